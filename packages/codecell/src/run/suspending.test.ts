/** Tests of what happens while a run is being suspended and its cell is asked for a snapshot. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ToolSet } from "../contract/tool.ts";
import { NodePool } from "../sandbox/node/node-pool.ts";
import { createMemoryStore } from "../store/memory.ts";
import type { HostError } from "../contract/host-error.ts";
import { Tokens } from "../durable/token.ts";
import { createHost, type RunHandle } from "./host/host.ts";
import { StoredKeeping } from "../durable/stored-keeping.ts";

/** Called when a cell is asked for a snapshot. The snapshot is taken when this settles. */
let beforeSnapshot: () => Promise<void>;
let snapshots: (Uint8Array | undefined)[];

beforeEach(() => {
  snapshots = [];
  beforeSnapshot = () => Promise.resolve();
  const place = Reflect.get(NodePool.prototype, "place");
  vi.spyOn(NodePool.prototype, "place").mockImplementation(function placeSlowly(this: NodePool, ...given) {
    const placement = place.apply(this, given);
    return {
      isWaiting: () => false,
      fullBytes: () => undefined,
      deliver: (delivery) => placement.deliver(delivery),
      drop: () => placement.drop(),
      snapshot: async () => {
        await beforeSnapshot();
        const bytes = await placement.snapshot();
        snapshots.push(bytes);
        return bytes;
      },
    };
  });
});
afterEach(() => void vi.restoreAllMocks());

/** `slow` ends as the test says. `big` makes the past so long that a snapshot pays. */
function desk(): {
  readonly tools: ToolSet;
  readonly finish: PromiseWithResolvers<string>;
  readonly counts: Record<"slow" | "ask", number>;
} {
  const finish = Promise.withResolvers<string>();
  const counts = { slow: 0, ask: 0 };
  const tools: ToolSet = {
    big: { execute: () => "x".repeat(20_000) },
    ask: {
      execute: (_input, call) => {
        if (call.resolution === undefined) call.suspend("go on?");
        counts.ask++;
        return call.resolution;
      },
    },
    slow: {
      execute: () => {
        counts.slow++;
        return finish.promise;
      },
    },
  };
  return { tools, finish, counts };
}

const source = `
  const big = await tools.big({});
  const settled = await Promise.allSettled([tools.ask({}), tools.slow({})]);
  return [big.length, ...settled.map((one) => one.value ?? one.reason.message)];`;

/** Settles when the run has the outcome of a call. */
async function ended(run: RunHandle, tool: string): Promise<void> {
  for await (const event of run.events) if (event.type === "call-end" && event.tool === tool) break;
  await new Promise(setImmediate);
}

describe.each(["a token", "a store"])("a call that ends while the snapshot for %s is taken", (where) => {
  test.each([
    ["its output", (finish: PromiseWithResolvers<string>) => finish.resolve("done"), "done"],
    ["its failure", (finish: PromiseWithResolvers<string>) => finish.reject(new Error("broke")), "broke"],
  ])("gives %s to the resumed run, once", async (_name, end, expected) => {
    await using store = createMemoryStore();
    await using host = createHost({ workers: 1, ...(where === "a store" ? { store } : {}) });
    const { tools, finish, counts } = desk();
    const run = host.start({ source, tools });
    beforeSnapshot = async () => {
      end(finish);
      await ended(run, "slow");
    };
    const result = await run.result;
    if (result.status !== "suspended") throw new Error(JSON.stringify(result));
    expect(snapshots).toEqual([expect.any(Uint8Array)]);
    const { token, pending } = result.suspension;
    expect(pending).toMatchObject([{ tool: "ask" }]);
    // The outcome came after what the token holds.
    expect(run.ledger().deliveries.flatMap(({ items }) => items)).toMatchObject([{ call: 0 }]);
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: "yes" } };
    const resumed = host.resume({ token, resolutions, tools });
    expect(await resumed.result).toMatchObject({ status: "completed", value: [20_000, "yes", expected] });
    const items = resumed.ledger().deliveries.flatMap((delivery) => delivery.items);
    expect(items).toHaveLength(3);
    for (const call of [0, 1, 2]) expect(items).toContainEqual(expect.objectContaining({ call }));
    expect(counts).toEqual({ slow: 1, ask: 1 });
  });
});

describe.each(["a token", "a store"])("a call that went on since an earlier suspension", (where) => {
  test(`is not lost if it ends while the next snapshot for ${where} is taken`, async () => {
    await using store = createMemoryStore();
    await using host = createHost({ workers: 1, ...(where === "a store" ? { store } : {}) });
    const { tools, finish, counts } = desk();
    const first = await host.start({ source, tools }).result;
    if (first.status !== "suspended") throw new Error(JSON.stringify(first));
    beforeSnapshot = async () => {
      finish.resolve("done");
      await new Promise(setImmediate);
    };
    // Nobody decides: the run is suspended again while the call still goes on.
    const second = await host.resume({ token: first.suspension.token, tools }).result;
    if (second.status !== "suspended") throw new Error(JSON.stringify(second));
    expect(snapshots).toHaveLength(2);
    const { token, pending } = second.suspension;
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: "yes" } };
    const last = await host.resume({ token, resolutions, tools }).result;
    expect(last).toMatchObject({ status: "completed", value: [20_000, "yes", "done"] });
    expect(counts).toEqual({ slow: 1, ask: 1 });
  });
});

describe("a run whose call has asked for a second when its time is up", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
  afterEach(() => void vi.useRealTimers());

  /** Settles when the run waits a second for its other calls. */
  async function waiting(): Promise<void> {
    using setTimer = vi.spyOn(globalThis, "setTimeout");
    while (!setTimer.mock.calls.some(([, ms]) => ms === 1000)) await new Promise(setImmediate);
  }

  test("is suspended, also if others held the thread from before that second to after that time", async () => {
    await using host = createHost({ workers: 1, limits: { wallTimeMs: 100_000 } });
    const { tools } = desk();
    const { result } = host.start({ source, tools });
    await waiting();
    // Both timers fire in one turn, in their order.
    vi.advanceTimersByTime(200_000);
    expect(await result).toMatchObject({ status: "suspended", suspension: { pending: [{ tool: "ask" }] } });
  });

  test("has timed out if its program still computes then", async () => {
    await using host = createHost({ workers: 1, limits: { wallTimeMs: 100_000, cpuTimeMs: 60_000 } });
    const { tools, finish } = desk();
    const computing = `tools.ask({}); await tools.slow({}); for (;;);`;
    const { result, ledger } = host.start({ source: computing, tools });
    await waiting();
    finish.resolve("done");
    while (ledger().deliveries.length === 0) await new Promise(setImmediate);
    vi.advanceTimersByTime(200_000);
    expect(await result).toMatchObject({ status: "failed", failure: { code: "timeout" } });
  });
});

describe("a run that cannot be put into bytes", () => {
  const fault = new Error("Invalid string length");
  const tools: ToolSet = { ask: { execute: (_input, { suspend, resolution }) => resolution ?? suspend(1) } };
  const asking = "return await tools.ask({})";

  test("fails, and its host is told why [host:errors]", async () => {
    vi.spyOn(Tokens.prototype, "issue").mockRejectedValue(fault);
    const told: HostError[] = [];
    await using host = createHost({ workers: 1, onError: (report) => told.push(report) });
    const result = await host.start({ source: asking, tools }).result;
    expect(result).toMatchObject({ status: "failed", failure: { code: "internal" }, cause: fault });
    expect(told).toMatchObject([{ error: fault, source: "internal" }]);
  });

  test("stays in its store as it was", async () => {
    const suspending = vi.spyOn(StoredKeeping.prototype, "suspend").mockRejectedValue(fault);
    await using host = createHost({ workers: 1, store: createMemoryStore() });
    const handle = host.start({ source: asking, tools });
    expect(await handle.result).toMatchObject({ status: "failed", failure: { code: "internal" } });
    suspending.mockRestore();
    const again = await host.resume({ id: handle.runId, tools }).result;
    expect(again).toMatchObject({ status: "suspended", suspension: { pending: [{ tool: "ask" }] } });
  });
});
