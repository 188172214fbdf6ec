import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type Answer,
  type Command,
  parseAnswers,
  type Report,
  STATUS,
  STATUS_BYTES,
} from "../protocol/messages.ts";
import { resolveLimits } from "../contract/limits.ts";
import { loadEngine } from "../sandbox/node/engine.ts";
import type { StartCommand } from "./cell-start.ts";
import { createNodePlatform } from "./node-platform.ts";
import type { WorkerPlatform } from "./platform.ts";
import { createWorker } from "./worker.ts";

/** A worker on this thread: commands go in, reports come out. */
class Bench {
  readonly status = new Int32Array(new SharedArrayBuffer(STATUS_BYTES));
  readonly inbox: (readonly Command[])[] = [];
  readonly sent: Answer[][] = [];
  readonly serve: () => void;

  constructor(engine: WebAssembly.Module, platform?: Partial<WorkerPlatform>, wake?: () => void) {
    const setup = { engine, vms: 64, status: this.status.buffer };
    this.serve = createWorker(
      setup,
      { ...createNodePlatform(this.status), ...platform },
      () => this.inbox.shift(),
      (answers) => this.sent.push(answers),
      wake,
    );
  }

  give(...commands: Command[]): Report[] {
    this.sent.length = 0;
    this.inbox.push(commands);
    this.serve();
    return this.sent.flat().filter((one) => one.kind === undefined);
  }
}

let bench: Bench;
let cells = 0;

beforeAll(async () => {
  bench = new Bench(await loadEngine());
});

function start(source: string, limits: Partial<ReturnType<typeof resolveLimits>> = {}): StartCommand {
  return {
    type: "start",
    cell: ++cells,
    source,
    language: "typescript",
    seed: "01".repeat(32),
    clock: 1_700_000_000_000,
    toolNames: '["step"]',
    features: {},
    limits: resolveLimits(limits),
    history: [],
  };
}

function output(cell: number, call: number, value: unknown, clock = 1_700_000_000_100): Command {
  return {
    type: "deliver",
    cell,
    delivery: { clock, items: [{ kind: "output", call, output: JSON.stringify(value) }] },
  };
}

describe("worker", () => {
  test("every start and delivery is answered by one report that the host accepts", () => {
    const command = start("const a = await tools.step(1); return a + 1");
    const [first] = bench.give(command);
    expect(first).toMatchObject({ cell: command.cell, calls: [{ tool: "step", input: "1" }], end: null });
    const [second] = bench.give(output(command.cell, 0, 41));
    expect(second).toMatchObject({ calls: [], end: { status: "returned", result: "42" }, unhandled: null });
    expect(parseAnswers([first, second])).toHaveLength(2);
  });

  test("all calls made before the guest waits are in one report", () => {
    const [report] = bench.give(start("await Promise.all([1, 2, 3].map((n) => tools.step(n)))"));
    expect(report?.calls.map(({ input }) => input)).toEqual(["1", "2", "3"]);
  });

  test("a yield is a call, and ends with its outcome", () => {
    const source =
      "const ended = await yield_control('why'); return [ended === undefined, typeof yield_control]";
    const command: StartCommand = { ...start(source), features: { yield: true } };
    expect(bench.give(command)[0]?.calls).toEqual([{ tool: "yield_control", input: '"why"' }]);
    const [report] = bench.give(output(command.cell, 0, "anything"));
    expect(report?.end).toEqual({ status: "returned", result: '[true,"function"]' });
  });

  test("nothing that is called through tools becomes a yield", () => {
    const source = "return await tools.yield_control('x').catch((error) => error.code)";
    const [may] = bench.give({ ...start(source), features: { yield: true } });
    expect(may).toMatchObject({ calls: [], end: { status: "returned", result: '"unknown_tool"' } });
    const [mayNot] = bench.give(start(source));
    expect(mayNot?.calls).toEqual([{ tool: "yield_control", input: '"x"' }]);
  });

  test("the guest's clock stands where the delivery put it", () => {
    const command = start(
      "const a = Date.now(); await tools.step(1); return [a, Date.now(), performance.now()]",
    );
    bench.give(command);
    const [report] = bench.give(output(command.cell, 0, null, 1_700_000_000_250));
    expect(report?.end).toMatchObject({ result: "[1700000000000,1700000000250,250]" });
  });

  test("the same seed gives the same randomness, another seed another", () => {
    const source =
      "return [Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(4))]]";
    const one = bench.give(start(source))[0]?.end;
    const two = bench.give(start(source))[0]?.end;
    const other = bench.give({ ...start(source), seed: "02".repeat(32) })[0]?.end;
    expect(one).toEqual(two);
    expect(other).not.toEqual(one);
  });

  describe("a first report that is too large for a message", () => {
    const source = "for (let n = 0; n < 5; n++) await tools.step('x'.repeat(600_000) + n); return 'said'";
    const history = [0, 1, 2, 3].map((call) => ({
      clock: 1_700_000_000_100,
      items: [{ kind: "output", call, output: "null" }] as const,
    }));
    const rebuilt = (): StartCommand => ({ ...start(source), history });
    const said = (commands: readonly Command[]): unknown[] => {
      bench.give(...commands);
      return bench.sent.flat().map((answer) => {
        const calls = "calls" in answer ? answer.calls.map(({ input }) => input.at(-2)).join("") : "";
        return [answer.kind, calls];
      });
    };

    test("goes out in pieces, each when the host asks for it, and other commands of the cell wait", () => {
      const command = rebuilt();
      const { cell } = command;
      const other = start("return 1");
      expect(said([command, output(cell, 4, null), { type: "snapshot", cell }])).toEqual([["piece", "01"]]);
      expect(said([other])).toEqual([[undefined, ""]]);
      // The report is complete before the outcome is delivered, which ends the cell.
      expect(said([{ type: "next", cell }])).toEqual([["piece", "23"]]);
      expect(said([{ type: "next", cell }])).toEqual([
        [undefined, "4"],
        [undefined, ""],
      ]);
      expect(bench.sent.flat().at(-1)).toMatchObject({ end: { status: "returned", result: '"said"' } });
      expect(said([{ type: "next", cell }])).toEqual([]);
    });

    test("keeps the order of commands that come with the last request", () => {
      const command = rebuilt();
      const { cell } = command;
      const late = { type: "snapshot", cell } as const;
      said([command, { type: "next", cell }, late]);
      expect(said([{ type: "next", cell }, output(cell, 4, null)])).toEqual([
        [undefined, "4"],
        ["snapshot", ""],
        [undefined, ""],
      ]);
    });

    test("is forgotten when the cell is dropped", () => {
      const command = rebuilt();
      const { cell } = command;
      expect(said([command])).toEqual([["piece", "01"]]);
      expect(said([{ type: "drop", cell }])).toEqual([]);
      expect(said([{ type: "next", cell }, output(cell, 4, null)])).toEqual([]);
    });
  });

  test("a history brings a cell to where it was", () => {
    const source = "let s = 0; for (let i = 0; i < 3; i++) s += await tools.step(s); return s";
    const original = start(source);
    bench.give(original);
    bench.give(output(original.cell, 0, 5));
    const history = [
      { clock: 1_700_000_000_100, items: [{ kind: "output", call: 0, output: "5" }] },
    ] as const;
    const rebuilt: StartCommand = { ...start(source), history };
    expect(bench.give(rebuilt)[0]?.calls.map(({ input }) => input)).toEqual(["0", "5"]);
    expect(bench.give(output(original.cell, 1, 6))[0]?.calls).toEqual(
      bench.give(output(rebuilt.cell, 1, 6))[0]?.calls,
    );
  });

  test("commands of a cell that was dropped meanwhile are not served", () => {
    const command = start("console.log('ran'); return 1");
    expect(bench.give(command, { type: "drop", cell: command.cell })).toEqual([]);
  });

  test("a delivery to an unknown cell is ignored", () => {
    expect(bench.give(output(999_999, 0, 1))).toEqual([]);
  });

  test("a cancelled cell stops at its next look, and the worker goes on", () => {
    const command = start("for (;;);");
    Atomics.store(bench.status, STATUS.cancel, command.cell);
    expect(bench.give(command)[0]?.end).toMatchObject({
      status: "failed",
      failure: { failure: { code: "aborted" } },
    });
    expect(bench.give(start("return 1"))[0]?.end).toMatchObject({ result: "1" });
  });

  test("a cell that computes while another waits is given back, and nothing of its burst is told [host:fair]", () => {
    const limits = { cpuTimeMs: 3_600_000 };
    const computing = start("console.log('lost'); tools.step(1); for (;;);", limits);
    const passing = start("return 1");
    expect(bench.give(computing, passing)).toMatchObject([{ cell: passing.cell, end: { result: "1" } }]);
    expect(bench.sent.flat()[0]).toEqual({ kind: "computes", cell: computing.cell });
    expect(parseAnswers(bench.sent.flat())).toHaveLength(2);
    expect(bench.give(output(computing.cell, 0, null))).toEqual([]);
  });

  test("a cell that replays its history leaves after its quantum, which grows with each move [host:fair]", () => {
    const source = "await tools.step(1); let n = 0; while (n < 3e6) n++; return n";
    const history = [
      { clock: 1_700_000_000_100, items: [{ kind: "output", call: 0, output: "5" }] },
    ] as const;
    const moved = (moves: number): StartCommand => ({ ...start(source), history, moves });
    const [first, last, passing] = [moved(0), moved(9), start("return 1")];
    bench.give(first, last, passing);
    expect(bench.sent.flat()).toMatchObject([
      { kind: "computes", cell: first.cell },
      { cell: last.cell, calls: [{ input: "1" }], end: { result: "3000000" } },
      { cell: passing.cell },
    ]);
  });

  test("a computing cell leaves for cells that wait for a thread", () => {
    const computing = start("for (;;);", { cpuTimeMs: 3_600_000 });
    Atomics.store(bench.status, STATUS.wanted, 1);
    bench.give(computing);
    Atomics.store(bench.status, STATUS.wanted, 0);
    expect(bench.sent.flat()).toEqual([{ kind: "computes", cell: computing.cell }]);
  });

  test("more cells than instances: all wait, and all come back", () => {
    const commands = Array.from({ length: 100 }, (_, index) =>
      start(`const mine = { n: ${index} }; const got = await tools.step(mine.n); return [mine.n, got]`),
    );
    bench.give(...commands);
    const ends = bench.give(...commands.toReversed().map(({ cell }) => output(cell, 0, cell)));
    expect(ends.map(({ end }) => end)).toEqual(
      commands.toReversed().map(({ cell }, index) => ({
        status: "returned",
        result: JSON.stringify([99 - index, cell]),
      })),
    );
  });

  test("nothing of one cell is seen by the next", () => {
    bench.give(
      start(
        "globalThis.x = 1; Object.prototype.y = 2; Array.prototype.map = null; Math.random = null; return 1",
      ),
    );
    const [report] = bench.give(
      start("return [typeof x, ({}).y ?? null, typeof [].map, typeof Math.random]"),
    );
    expect(report?.end).toMatchObject({ result: '["undefined",null,"function","function"]' });
  });

  test("timers set and cleared before the guest waits are not reported", () => {
    const [report] = bench.give(
      start(
        "for (let i = 0; i < 5000; i++) clearTimeout(setTimeout(() => {}, 1)); setTimeout(() => {}, 7); await tools.step(0)",
      ),
    );
    expect(report?.timers).toEqual([{ timer: 5001, delayMs: 7 }]);
  });

  test("log lines over the limit are counted, empty ones too", () => {
    const [report] = bench.give(start("for (let i = 0; i < 1000; i++) console.log('')", { logBytes: 1600 }));
    expect(report?.logs).toHaveLength(100);
    expect(report?.logsDropped).toBe(900);
  });

  test("input over the limit is refused inside the guest, and is not a call", () => {
    const [report] = bench.give(
      start("try { await tools.step('x'.repeat(2000)) } catch (e) { return [e.code, e.message] }", {
        callInputBytes: 1000,
      }),
    );
    expect(report?.calls).toEqual([]);
    expect(report?.end).toMatchObject({
      result:
        '["input_limit","Cannot call tool \\"step\\": its input has 2002 bytes, at most 1000 are allowed"]',
    });
  });

  test.each([
    ["syntax_error", "return ]", {}],
    ["module_denied", "import fs from 'fs'", {}],
    ["guest_error", "throw new Error('x')", {}],
    ["memory_limit", "const a = []; for (;;) a.push(new Uint8Array(1e6))", { memoryBytes: 8 * 1024 * 1024 }],
    ["timeout", "for (;;);", { cpuTimeMs: 50 }],
    ["result_limit", "return 'x'.repeat(5000)", { resultBytes: 1000 }],
    ["call_limit", "for (;;) tools.step(1)", { calls: 10 }],
  ] as const)("%s is the worker's own finding", (code, source, limits) => {
    const [report] = bench.give(start(source, limits));
    expect(report?.end).toMatchObject({ status: "failed", failure: { failure: { code } } });
    expect(parseAnswers([report])).toBeDefined();
  });

  test("a program that catches the refusal of one call too many ends anyway", () => {
    const source = "try { for (;;) { await tools.step(1); await tools.step(2) } } catch { return 'caught' }";
    const command = start(source, { calls: 1 });
    bench.give(command);
    expect(bench.give(output(command.cell, 0, null))[0]?.end).toMatchObject({
      failure: { failure: { code: "call_limit" } },
    });
  });

  test("running out of memory inside a job is told, though the engine swallows it", () => {
    const source = "await new Promise(() => { const f = () => Promise.resolve().then(f); f() })";
    const [report] = bench.give(start(source, { memoryBytes: 8 * 1024 * 1024 }));
    expect(report?.end ?? report?.unhandled).toMatchObject({ failure: { code: "memory_limit" } });
  });

  test("a rejection handled late is not a failure, one never handled is", () => {
    const late = start(
      "const p = Promise.reject(new Error('x')); await tools.step(1); try { await p } catch {} return 1",
    );
    bench.give(late);
    expect(bench.give(output(late.cell, 0, null))[0]).toMatchObject({
      end: { status: "returned" },
      unhandled: null,
    });
    expect(bench.give(start("Promise.reject(new Error('lost')); return 1"))[0]).toMatchObject({
      end: { status: "returned" },
      unhandled: { failure: { code: "guest_error", message: "Error: lost (line 1, column 20)" } },
    });
  });
});

/** A platform that answers only when the test tells it to. */
class SlowPlatform {
  #gate = Promise.withResolvers<void>();
  readonly platform: Partial<WorkerPlatform>;

  constructor() {
    const { compress, decompress, digest } = createNodePlatform(new Int32Array(STATUS_BYTES / 4));
    this.platform = {
      compress: async (...given) => (await this.#gate.promise, compress(...given)),
      decompress: async (...given) => (await this.#gate.promise, decompress(...given)),
      digest: async (parts) => (await this.#gate.promise, digest(parts)),
    };
  }

  /** Answers everything that was asked, and settles when the worker has gone on from the answers. */
  async answer(): Promise<void> {
    this.#gate.resolve();
    await new Promise(setImmediate);
    this.#gate = Promise.withResolvers();
  }

  async fail(): Promise<void> {
    this.#gate.reject(new Error("No more room"));
    await new Promise(setImmediate);
    this.#gate = Promise.withResolvers();
  }
}

describe("a worker whose platform has to be waited for", () => {
  const SOURCE = "const a = await tools.step(1); return [a, await tools.step(2)]";
  const PROGRESS = { deliveries: 0, calls: 1, timers: 0, logs: 0 };
  let slow: SlowPlatform;
  let worker: Bench;
  let woken: number;

  beforeEach(async () => {
    woken = 0;
    slow = new SlowPlatform();
    worker = new Bench(await loadEngine(), slow.platform);
  });

  /** Kind and cell of every answer since the last command. */
  const said = (): [string, number][] => worker.sent.flat().map(({ kind = "report", cell }) => [kind, cell]);

  async function snapshotOf(cell: number): Promise<Uint8Array<ArrayBuffer>> {
    worker.give({ type: "snapshot", cell });
    await slow.answer();
    const [answer] = worker.sent.flat();
    if (answer?.kind !== "snapshot" || answer.bytes === null) throw new Error("No snapshot");
    return answer.bytes;
  }

  test("serves no command of that cell meanwhile, and all of the others", async () => {
    const [one, other] = [start(SOURCE), start(SOURCE)];
    worker.give(one, other);
    worker.give(
      { type: "snapshot", cell: one.cell },
      output(one.cell, 0, 5),
      { type: "snapshot", cell: one.cell },
      output(other.cell, 0, 6),
    );
    expect(said()).toEqual([["report", other.cell]]);
    worker.give(output(one.cell, 1, 7), output(other.cell, 1, 8));
    expect(worker.sent.flat()).toMatchObject([{ cell: other.cell, end: { result: "[6,8]" } }]);
    worker.sent.length = 0;
    await slow.answer();
    expect(worker.sent.flat()).toMatchObject([
      { kind: "snapshot", cell: one.cell },
      { cell: one.cell, calls: [{ input: "2" }] },
      { kind: "snapshot", cell: one.cell },
      { cell: one.cell, end: { result: "[5,7]" } },
    ]);
  });

  test("takes the snapshot of the cell as it was at the request", async () => {
    const one = start(SOURCE);
    worker.give(one);
    const bytes = await snapshotOf(one.cell);
    worker.give({ type: "snapshot", cell: one.cell }, output(one.cell, 0, 5), output(one.cell, 1, 6));
    await slow.answer();
    const [again, moved, ended] = worker.sent.flat();
    expect(again).toMatchObject({ kind: "snapshot", bytes });
    expect(moved).toMatchObject({ calls: [{ input: "2" }] });
    expect(ended).toMatchObject({ end: { result: "[5,6]" } });
  });

  test("starts from a snapshot once it has been read, and serves commands that came meanwhile", async () => {
    const one = start(SOURCE);
    worker.give(one);
    const snapshot = { bytes: await snapshotOf(one.cell), progress: PROGRESS };
    const restored: StartCommand = { ...start(SOURCE), snapshot };
    const passing = start("return 1");
    worker.give(restored, output(restored.cell, 0, 5), passing);
    expect(said()).toEqual([["report", passing.cell]]);
    worker.sent.length = 0;
    await slow.answer();
    expect(worker.sent.flat()).toMatchObject([
      { cell: restored.cell, calls: [], end: null },
      { cell: restored.cell, calls: [{ input: "2" }] },
    ]);
    expect(worker.give(output(restored.cell, 1, 6))[0]?.end).toMatchObject({ result: "[5,6]" });
  });

  test("drops a cell at once, and says nothing more of it", async () => {
    const one = start(SOURCE);
    worker.give(one);
    const bytes = await snapshotOf(one.cell);
    const idleKib = Atomics.load(worker.status, STATUS.held);
    const restored: StartCommand = { ...start(SOURCE), snapshot: { bytes, progress: PROGRESS } };
    worker.give(restored, output(restored.cell, 0, 5), { type: "snapshot", cell: one.cell });
    worker.give({ type: "drop", cell: restored.cell }, { type: "drop", cell: one.cell });
    expect(Atomics.load(worker.status, STATUS.dropped)).toBe(2);
    await slow.answer();
    expect(said()).toEqual([]);
    expect(Atomics.load(worker.status, STATUS.held)).toBeLessThanOrEqual(idleKib);
    expect(worker.give(output(one.cell, 0, 1), output(restored.cell, 0, 1))).toEqual([]);
    expect(worker.give(start("return 1"))[0]?.end).toMatchObject({ result: "1" });
  });

  test("drops a cell also between the platform's answer and its effect", async () => {
    const wakes = new Bench(await loadEngine(), slow.platform, () => woken++);
    const one = start(SOURCE);
    wakes.give(one);
    wakes.give({ type: "snapshot", cell: one.cell }, output(one.cell, 0, 5));
    await slow.answer();
    expect(woken).toBe(1);
    expect(wakes.give({ type: "drop", cell: one.cell })).toEqual([]);
    expect(wakes.sent.flat()).toEqual([]);
  });

  test("goes on when it is called after it asked to be woken", async () => {
    const wakes = new Bench(await loadEngine(), slow.platform, () => woken++);
    const one = start(SOURCE);
    wakes.give(one);
    wakes.give({ type: "snapshot", cell: one.cell }, output(one.cell, 0, 5));
    await slow.answer();
    expect([woken, wakes.sent.flat()]).toEqual([1, []]);
    wakes.serve();
    expect(wakes.sent.flat()).toMatchObject([{ kind: "snapshot" }, { calls: [{ input: "2" }] }]);
  });

  test("refuses a snapshot that the platform fails to make or read, and goes on with the cell", async () => {
    const one = start(SOURCE);
    worker.give(one);
    const bytes = await snapshotOf(one.cell);
    const restored: StartCommand = { ...start(SOURCE), snapshot: { bytes, progress: PROGRESS } };
    worker.give(
      restored,
      output(restored.cell, 0, 5),
      { type: "snapshot", cell: one.cell },
      output(one.cell, 0, 5),
    );
    await slow.fail();
    expect(worker.sent.flat()).toMatchObject([
      { kind: "snapshot_refused", cell: restored.cell },
      { kind: "snapshot", cell: one.cell, bytes: null },
      { cell: one.cell, calls: [{ input: "2" }] },
    ]);
    // The next attempt may succeed.
    expect(await snapshotOf(one.cell)).toBeInstanceOf(Uint8Array);
  });

  test("lets a cell that computes leave for those that wait: they need its thread [host:fair]", async () => {
    const one = start(SOURCE);
    worker.give(one);
    const computing = start("for (;;);", { cpuTimeMs: 3_600_000 });
    worker.give({ type: "snapshot", cell: one.cell }, computing);
    expect(said()).toEqual([["computes", computing.cell]]);
    await slow.answer();
    expect(said()).toContainEqual(["snapshot", one.cell]);
  });

  test("says on the status board where it is, and that it is in no cell while it waits", async () => {
    const one = start(SOURCE);
    worker.give(one);
    worker.give({ type: "snapshot", cell: one.cell });
    const entries = Atomics.load(worker.status, STATUS.entries);
    expect(Atomics.load(worker.status, STATUS.cell)).toBe(0);
    await slow.answer();
    expect(Atomics.load(worker.status, STATUS.entries)).toBe(entries + 1);
    expect(Atomics.load(worker.status, STATUS.cell)).toBe(0);
  });
});

test("a platform that answers at once is answered at once: snapshots cost no promise", () => {
  const one = start("await tools.step(1)");
  bench.give(one);
  bench.give({ type: "snapshot", cell: one.cell }, output(one.cell, 0, 5));
  const [snapshot, ended] = bench.sent.flat();
  expect([snapshot?.kind, ended]).toMatchObject(["snapshot", { isOver: true }]);
});
