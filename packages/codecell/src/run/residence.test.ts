/** Where a cell lives: asleep when it waits for long, back from snapshots, from the ledger where those do not fit. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Report } from "../bridge/protocol.ts";
import { resolveLimits } from "../contract/limits.ts";
import { NodePool } from "../sandbox/node-pool.ts";
import type { CellStart, Sandbox } from "../sandbox/sandbox.ts";
import { LedgerBook } from "../suspend/ledger-book.ts";
import { type CellSnapshot, Residence } from "./residence.ts";

let pool: NodePool;
beforeEach(() => {
  pool = new NodePool({ workers: 1, maxWorkers: 2 });
});
afterEach(async () => {
  vi.useRealTimers();
  await pool[Symbol.asyncDispose]();
});

const source = `
  const past = [];
  for (let n = 0; n < 3; n++) past.push(await tools.step({ n }));
  return past.join();`;

/** A run as far as its residence needs one: reports are read by the book, outcomes given one by one. */
class Driver {
  readonly starts: CellStart[] = [];
  readonly book = new LedgerBook({
    runId: "r",
    source,
    language: "typescript",
    seed: "ab".repeat(32),
    clock: 1,
    limits: resolveLimits(),
    toolNames: ["step"],
  });
  readonly residence: Residence;
  #reported = Promise.withResolvers<Report>();

  constructor(snapshot?: CellSnapshot, past?: LedgerBook) {
    for (const call of past?.calls ?? []) this.book.calls.push(call);
    for (const delivery of past?.deliveries ?? []) this.book.addDelivery(delivery);
    const counting: Sandbox = {
      place: (start, listener) => {
        this.starts.push(start);
        return pool.place(start, listener);
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    const onReport = (report: Report): void => {
      expect(this.book.read(report)).toBeDefined();
      this.#reported.resolve(report);
    };
    const onLost = (): void => this.#reported.reject(new Error("lost"));
    this.residence = new Residence(this.book, counting, { onReport, onLost }, snapshot);
  }

  place(): Promise<Report> {
    return this.#answered(() => this.residence.place());
  }

  give(call: number): Promise<Report> {
    const delivery = { clock: 2 + call, items: [{ kind: "output", call, output: `"${call}"` }] } as const;
    return this.#answered(() => {
      this.book.addDelivery(delivery);
      this.residence.deliver(delivery);
    });
  }

  async #answered(action: () => void): Promise<Report> {
    this.#reported = Promise.withResolvers();
    action();
    return await this.#reported.promise;
  }
}

describe("residence", () => {
  test("a cell that waits for long sleeps, and wakes with the next delivery [cell:sleep]", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const driver = new Driver();
    await driver.place();
    await driver.give(0);
    const taken = vi.spyOn(driver.residence, "leave");
    vi.advanceTimersByTime(10_000);
    vi.useRealTimers();
    await vi.waitFor(() => expect(taken).toHaveBeenCalled());
    await driver.give(1);
    expect(driver.starts).toHaveLength(2);
    expect(driver.starts[1]).toMatchObject({ history: [{ items: [{ call: 1 }] }] });
    expect(driver.starts[1]?.snapshot).toBeDefined();
    expect((await driver.give(2)).end).toEqual({ status: "returned", result: '"0,1,2"' });
    expect(driver.residence.rebuilds).toBe(0);
    driver.residence.leave();
  });

  test("a snapshot carries a run to another cell", async () => {
    const first = new Driver();
    await first.place();
    await first.give(0);
    const snapshot = await first.residence.snapshot();
    first.residence.leave();
    const second = new Driver(snapshot, first.book);
    await second.place();
    expect(second.starts[0]).toMatchObject({ history: [] });
    await second.give(1);
    expect((await second.give(2)).end).toEqual({ status: "returned", result: '"0,1,2"' });
    second.residence.leave();
  });

  test("one of another build is left aside, and the ledger replayed [cell:digest]", async () => {
    const first = new Driver();
    await first.place();
    await first.give(0);
    const snapshot = await first.residence.snapshot();
    first.residence.leave();
    if (snapshot === undefined) throw new Error("No snapshot");
    for (const at of [0, 8, 20, snapshot.bytes.length - 1]) {
      const bytes = snapshot.bytes.slice();
      bytes[at] = (bytes[at] ?? 0) ^ 0x5a;
      const second = new Driver({ ...snapshot, bytes }, first.book);
      await second.place();
      expect(second.starts).toHaveLength(2);
      expect(second.starts[1]?.snapshot).toBeUndefined();
      await second.give(1);
      expect((await second.give(2)).end).toEqual({ status: "returned", result: '"0,1,2"' });
      expect(second.residence.rebuilds).toBe(0);
      second.residence.leave();
    }
  });
});
