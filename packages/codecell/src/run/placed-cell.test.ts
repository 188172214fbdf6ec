/**
 * Tests of where a cell lives: it sleeps when it waits for long, and comes back from a snapshot, or from the ledger if
 * the snapshot does not fit.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { CellSnapshot, Report } from "../protocol/messages.ts";
import { MOST_MOVES } from "../protocol/quantum.ts";
import { resolveLimits } from "../contract/limits.ts";
import { sharedHeapBudget } from "../sandbox/node/heap-budget.ts";
import { NodePool } from "../sandbox/node/node-pool.ts";
import type { CellListener, CellStart, Loss, Sandbox } from "../sandbox/sandbox.ts";
import { defaultWorkerUrl } from "../sandbox/node/worker-script.ts";
import { LedgerRecorder, type Past } from "../ledger/ledger-recorder.ts";
import { PlacedCell, type SnapshotKeeper } from "./placed-cell.ts";

let pool: NodePool;
beforeEach(() => {
  pool = new NodePool({
    workers: 1,
    maxWorkers: 2,
    computeWorkers: 1,
    workerUrl: defaultWorkerUrl(),
    budget: sharedHeapBudget(),
  });
});
afterEach(async () => {
  vi.useRealTimers();
  await pool[Symbol.asyncDispose]();
});

const sourceOf = (steps: number): string => `
  const past = [];
  for (let n = 0; n < ${steps}; n++) past.push(await tools.step({ n }));
  return past.join();`;

/** The part of a run that a placed cell needs: the recorder reads reports, and outcomes are given one by one. */
class Driver {
  readonly starts: CellStart[] = [];
  readonly recorder: LedgerRecorder;
  readonly placedCell: PlacedCell;
  #reported = Promise.withResolvers<Report>();

  /** What the present placement tells. */
  listener: CellListener | undefined;

  /** Takes the cell away, as a worker does that another cell or this cell holds. */
  lose: (loss: Loss) => void = () => {};

  constructor(snapshot?: CellSnapshot, past?: Past, snapshotKeeper?: SnapshotKeeper, steps = 3) {
    const header = {
      runId: "r",
      source: sourceOf(steps),
      language: "typescript",
      seed: "ab".repeat(32),
      clock: 1,
      limits: resolveLimits(),
      toolNames: ["step"],
      features: {},
    } as const;
    this.recorder = new LedgerRecorder(header, past);
    const counting: Sandbox = {
      place: (start, listener) => {
        this.starts.push(start);
        // These programs do little, however busy the machine is.
        const onReport = (report: Report): void => listener.onReport({ ...report, cpuTimeMs: 0 });
        this.listener = listener;
        const placement = pool.place(start, { ...listener, onReport });
        this.lose = (loss) => {
          placement.drop();
          listener.onLost(loss);
        };
        return placement;
      },
      judgeFor: (owner, signal) => pool.judgeFor(owner, signal),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    const onReport = (report: Report): void => {
      expect(this.recorder.read(report)).toBeDefined();
      this.#reported.resolve(report);
    };
    const onLost = (): void => this.#reported.reject(new Error("lost"));
    this.placedCell = new PlacedCell(this.recorder, counting, { onReport, onLost }, snapshot, snapshotKeeper);
  }

  place(): Promise<Report> {
    return this.#answered(() => this.placedCell.place());
  }

  give(call: number, output = `"${call}"`): Promise<Report> {
    const delivery = { clock: 2 + call, items: [{ kind: "output", call, output }] } as const;
    return this.#answered(() => {
      this.recorder.addDelivery(delivery);
      this.placedCell.deliver(delivery);
    });
  }

  async #answered(action: () => void): Promise<Report> {
    this.#reported = Promise.withResolvers();
    action();
    return await this.#reported.promise;
  }
}

/** Too long to be replayed. */
const LONG = `"${"0".repeat(20_000)}"`;

/** A run whose cell has fallen asleep after its first outcome. */
async function asleep(first: string, snapshotKeeper?: SnapshotKeeper, steps?: number): Promise<Driver> {
  const driver = new Driver(undefined, undefined, snapshotKeeper, steps);
  await asleepAfter(driver, async () => {
    await driver.place();
    await driver.give(0, first);
  });
  return driver;
}

async function asleepAfter({ placedCell }: Driver, move: () => Promise<unknown>): Promise<void> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  await move();
  const left = vi.spyOn(placedCell, "leave");
  vi.advanceTimersByTime(10_000);
  vi.useRealTimers();
  await vi.waitFor(() => expect(left).toHaveBeenCalled(), 60_000);
  left.mockRestore();
}

describe("a cell whose memory others need", () => {
  test("is given up while it waits, and the next outcome brings it back from its ledger", async () => {
    const driver = new Driver();
    await driver.place();
    await driver.give(0);
    expect(pool.evict(1)).toBeGreaterThan(0);
    expect(pool.evict(1)).toBe(0);
    await driver.give(1);
    expect((await driver.give(2)).end).toEqual({ status: "returned", result: '"0,1,2"' });
    expect(driver.starts).toHaveLength(2);
    expect(driver.placedCell.rebuilds).toBe(0);
  });

  test("gives no snapshot after it was evicted, not even the earlier one", async () => {
    const driver = await asleep(LONG);
    await driver.give(1);
    expect(pool.evict(1)).toBeGreaterThan(0);
    expect(await driver.placedCell.snapshot()).toBeUndefined();
    expect((await driver.give(2)).isOver).toBe(true);
  });

  test("stays while it owes an answer", async () => {
    const driver = new Driver();
    const placed = driver.place();
    expect(pool.evict(1)).toBe(0);
    await placed;
  });
});

/** A keeper that holds a snapshot, and gives it back when it is told to. */
function slowSnapshotKeeper(): { readonly snapshotKeeper: SnapshotKeeper; readonly letFetch: () => void } {
  let kept: CellSnapshot | undefined;
  const fetched = Promise.withResolvers<void>();
  const snapshotKeeper: SnapshotKeeper = {
    saveSnapshot: async (snapshot) => {
      kept = snapshot;
      return true;
    },
    loadSnapshot: async () => {
      await fetched.promise;
      return kept;
    },
  };
  return { snapshotKeeper, letFetch: fetched.resolve };
}

describe("placed cell", () => {
  test("a cell that waits for long sleeps, and wakes with the next delivery [cell:sleep]", async () => {
    const driver = await asleep(LONG);
    await driver.give(1);
    expect(driver.starts).toHaveLength(2);
    expect(driver.starts[1]).toMatchObject({ history: [{ items: [{ call: 1 }] }] });
    expect(driver.starts[1]?.snapshot).toBeDefined();
    expect((await driver.give(2)).end).toMatchObject({ status: "returned" });
    expect(driver.placedCell.rebuilds).toBe(0);
    driver.placedCell.leave();
  });

  test("a cell that did little comes back without a snapshot [cell:sleep]", async () => {
    const saveSnapshot = vi.fn(async () => true);
    const driver = await asleep('"0"', { saveSnapshot, loadSnapshot: async () => undefined });
    expect(saveSnapshot).not.toHaveBeenCalled();
    await driver.give(1);
    expect(driver.starts[1]).toMatchObject({ history: [{}, {}] });
    expect(driver.starts[1]?.snapshot).toBeUndefined();
    expect((await driver.give(2)).end).toEqual({ status: "returned", result: '"0,1,2"' });
    driver.placedCell.leave();
  });

  test("a snapshot keeper keeps the snapshot meanwhile, and deliveries are not lost while it is fetched [cell:sleep]", async () => {
    const { snapshotKeeper, letFetch } = slowSnapshotKeeper();
    const driver = await asleep(LONG, snapshotKeeper);
    const first = driver.give(1);
    expect(driver.placedCell.isSettled).toBe(false);
    const second = driver.give(2);
    expect(driver.starts).toHaveLength(1);
    letFetch();
    expect((await second).end).toMatchObject({ status: "returned" });
    expect(driver.starts).toHaveLength(2);
    expect(driver.starts[1]).toMatchObject({ history: [{ clock: 3 }, { clock: 4 }] });
    void first;
    driver.placedCell.leave();
  });

  test("a cell that is lost after it slept waits for the snapshot keeper like a sleeping cell [cell:sleep]", async () => {
    const { snapshotKeeper, letFetch } = slowSnapshotKeeper();
    const driver = await asleep(LONG, snapshotKeeper, 4);
    letFetch();
    await driver.give(1);
    driver.lose("displaced");
    // The cell is nowhere at the moment: the next placement gets this outcome, and answers it once.
    await driver.give(2);
    expect(driver.placedCell.isSettled).toBe(true);
    expect((await driver.give(3)).end).toMatchObject({ status: "returned" });
    expect(driver.starts).toHaveLength(3);
    driver.placedCell.leave();
  });

  test("a cell sleeps as often as it waits for long [cell:sleep]", async () => {
    const driver = await asleep(LONG);
    await asleepAfter(driver, () => driver.give(1));
    expect((await driver.give(2)).end).toMatchObject({ status: "returned" });
    expect(driver.starts).toHaveLength(3);
    driver.placedCell.leave();
  });

  test.each([
    ["refuses to keep it", false],
    ["has lost it", true],
  ])("a snapshot keeper that %s only costs time [cell:sleep]", async (_what, isKept) => {
    const driver = await asleep(LONG, {
      saveSnapshot: async () => isKept,
      loadSnapshot: async () => undefined,
    });
    await driver.give(1);
    expect(driver.starts[1]?.snapshot === undefined).toBe(isKept);
    expect((await driver.give(2)).end).toMatchObject({ status: "returned" });
    driver.placedCell.leave();
  });

  test("a run that is taken up gets its full processor time again, from a snapshot or from its ledger", async () => {
    const first = new Driver();
    await first.place();
    await first.give(0);
    const snapshot = await first.placedCell.snapshot();
    first.placedCell.leave();
    const { calls, deliveries, seen } = first.recorder;
    const past = { calls, deliveries, seen: { ...seen, cpuTimeMs: 500 } };
    const { cpuTimeMs } = resolveLimits();
    for (const [from, before] of [
      [snapshot, 500],
      [undefined, 1000],
    ] as const) {
      const second = new Driver(from, past);
      await second.place();
      expect(first.starts[0]?.limits.cpuTimeMs).toBe(cpuTimeMs);
      expect(second.starts[0]?.limits.cpuTimeMs).toBe(cpuTimeMs + before);
      second.placedCell.leave();
    }
  });

  test("a cell that computes is placed again with its deliveries and the number of its moves [host:fair]", async () => {
    const driver = new Driver();
    await driver.place();
    await driver.give(0);
    driver.lose("computes");
    driver.lose("computes");
    expect((await driver.give(1)).end).toBeNull();
    expect((await driver.give(2)).end).toEqual({ status: "returned", result: '"0,1,2"' });
    expect(driver.starts.map(({ moves }) => moves)).toEqual([undefined, 1, 2]);
    expect(driver.starts[2]).toMatchObject({ history: [{ clock: 2 }] });
    expect(driver.placedCell.rebuilds).toBe(2);
    driver.placedCell.leave();
  });

  test.each(["calls", "timers"] as const)(
    "a worker whose pieces together have too many %s is not trusted, and the cell is placed again",
    async (what) => {
      const driver = new Driver();
      const placed = driver.place();
      const { calls: most } = resolveLimits();
      const item = { tool: "step", input: "0", timer: 1, delayMs: 1 };
      const half = Array.from({ length: what === "calls" ? most / 2 + 1 : 500_001 }, () => item);
      const piece = { kind: "piece", cell: 1, calls: [], timers: [], [what]: half } as const;
      driver.listener?.onPiece(piece);
      expect(driver.starts).toHaveLength(1);
      driver.listener?.onPiece(piece);
      expect(driver.starts).toHaveLength(2);
      expect(driver.placedCell.rebuilds).toBe(1);
      // Nothing of the pieces is left.
      expect((await placed).calls).toEqual([{ tool: "step", input: '{"n":0}' }]);
      expect(driver.recorder.calls).toEqual([{ tool: "step", input: '{"n":0}' }]);
      driver.placedCell.leave();
    },
  );

  test("a worker whose pieces together have larger calls than a ledger holds is not trusted", async () => {
    const driver = new Driver();
    const placed = driver.place();
    const input = "x".repeat(resolveLimits().ledgerSize);
    const piece = { kind: "piece", cell: 1, calls: [{ tool: "step", input }], timers: [] } as const;
    driver.listener?.onPiece(piece);
    expect(driver.starts).toHaveLength(1);
    driver.listener?.onPiece(piece);
    expect(driver.starts).toHaveLength(2);
    expect((await placed).calls).toEqual([{ tool: "step", input: '{"n":0}' }]);
    expect(driver.recorder.calls).toEqual([{ tool: "step", input: '{"n":0}' }]);
    expect(driver.recorder.sizeInPieces).toBe(0);
    driver.placedCell.leave();
  });

  test("a cell is lost if its worker asks for more moves than a quantum allows", async () => {
    const driver = new Driver();
    await driver.place();
    const ended = driver.give(0);
    for (let move = 0; move <= MOST_MOVES; move++) driver.lose("computes");
    await expect(ended).rejects.toThrow("lost");
    expect(driver.starts.at(-1)?.moves).toBe(MOST_MOVES);
  });

  test("a snapshot carries a run to another cell", async () => {
    const first = new Driver();
    await first.place();
    await first.give(0);
    const snapshot = await first.placedCell.snapshot();
    first.placedCell.leave();
    const second = new Driver(snapshot, first.recorder);
    await second.place();
    expect(second.starts[0]).toMatchObject({ history: [] });
    await second.give(1);
    expect((await second.give(2)).end).toEqual({ status: "returned", result: '"0,1,2"' });
    second.placedCell.leave();
  });

  test("a snapshot of another build is not used, and the ledger is replayed [cell:digest]", async () => {
    const first = new Driver();
    await first.place();
    await first.give(0);
    const snapshot = await first.placedCell.snapshot();
    first.placedCell.leave();
    if (snapshot === undefined) throw new Error("No snapshot");
    for (const at of [0, 8, 20, snapshot.bytes.length - 1]) {
      const bytes = snapshot.bytes.slice();
      bytes[at] = (bytes[at] ?? 0) ^ 0x5a;
      const second = new Driver({ ...snapshot, bytes }, first.recorder);
      await second.place();
      expect(second.starts).toHaveLength(2);
      expect(second.starts[1]?.snapshot).toBeUndefined();
      await second.give(1);
      expect((await second.give(2)).end).toEqual({ status: "returned", result: '"0,1,2"' });
      expect(second.placedCell.rebuilds).toBe(0);
      second.placedCell.leave();
    }
  });
});
