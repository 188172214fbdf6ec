import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CallQueue } from "./call-queue.ts";

/** A queue whose calls end when told to. */
function open(
  inFlight: number,
  queued: number,
  calls: readonly { readonly input: string }[] = [],
): { queue: CallQueue; started: number[]; end: (index: number) => Promise<void> } {
  const started: number[] = [];
  const ends = new Map<number, () => void>();
  const execute = (index: number): Promise<void> => {
    started.push(index);
    return new Promise((resolve) => {
      ends.set(index, resolve);
    });
  };
  const limits = { callsInFlight: inFlight, callsQueued: queued };
  const queue = new CallQueue(limits, (index) => calls[index]?.input.length ?? 0, execute);
  const end = async (index: number): Promise<void> => {
    ends.get(index)?.();
    await Promise.resolve();
    await Promise.resolve();
  };
  return { queue, started, end };
}

describe("call queue", () => {
  test("executes as many calls at once as allowed, the rest in order", async () => {
    const { queue, started, end } = open(2, 10);
    expect(queue.admit([0, 1, 2, 3])).toBe(true);
    expect(started).toEqual([0, 1]);
    await end(1);
    expect(started).toEqual([0, 1, 2]);
    expect(queue.size).toBe(3);
  });

  test("few calls with large inputs execute at once, one always may, and no call overtakes another", async () => {
    const calls = [3e6, 1e6, 1e6, 2, 1e6, 2].map((length) => ({ input: "0".repeat(length) }));
    const { queue, started, end } = open(32, 10, calls);
    queue.admit([0, 1, 2, 3, 4, 5]);
    expect(started).toEqual([0]);
    await end(0);
    expect(started).toEqual([0, 1, 2, 3]);
    await end(3);
    expect(started).toHaveLength(4);
    await end(1);
    expect(started).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test("a call with a small input starts while large inputs execute", async () => {
    const calls = [1_048_576, 1_048_576, 4096, 2, 1_048_576, 2].map((length) => ({
      input: "0".repeat(length),
    }));
    const { queue, started, end } = open(32, 10, calls);
    queue.admit([0, 1, 2, 3, 4, 5]);
    // In their order: no call overtakes a large one that waits.
    expect(started).toEqual([0, 1, 2, 3]);
    await end(0);
    expect(started).toEqual([0, 1, 2, 3]);
    await end(2);
    await end(3);
    expect(started).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test("inputs of 64 Ki characters are not large", () => {
    const calls = Array.from({ length: 33 }, () => ({ input: "0".repeat(65_536) }));
    const { queue, started } = open(32, 10, calls);
    queue.admit([...calls.keys()]);
    expect(started).toHaveLength(32);
  });

  test("a batch that does not fit starts none of its calls", () => {
    const { queue, started } = open(2, 3);
    expect(queue.admit([0, 1, 2, 3, 4, 5])).toBe(false);
    expect(started).toEqual([]);
    expect(queue.size).toBe(0);
    expect(queue.admit([0, 1, 2, 3, 4])).toBe(true);
  });

  test("after close no call starts, and idle waits for the calls that execute", async () => {
    const { queue, started, end } = open(1, 10);
    queue.admit([0, 1]);
    queue.close();
    let idle = false;
    const waiting = queue.idle.then(() => {
      idle = true;
    });
    await end(0);
    await waiting;
    expect(idle).toBe(true);
    expect(started).toEqual([0]);
  });

  test("never executes more than allowed, and every admitted call once", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 0, max: 6 }),
        fc.array(fc.integer({ min: 0, max: 8 }), { maxLength: 10 }),
        async (inFlight, queued, batches) => {
          const { queue, started, end } = open(inFlight, queued);
          let next = 0;
          const admitted: number[] = [];
          for (const size of batches) {
            const batch = Array.from({ length: size }, () => next++);
            const free = inFlight - queue.executing;
            const fits = queue.size - queue.executing + size <= free + queued;
            expect(queue.admit(batch)).toBe(fits);
            if (fits) admitted.push(...batch);
            expect(queue.executing).toBeLessThanOrEqual(inFlight);
            const [first] = queue.inFlight;
            if (first !== undefined) await end(first);
          }
          while (queue.size > 0) await end(queue.inFlight[0] ?? -1);
          expect(started).toEqual(admitted);
        },
      ),
    );
  });
});
