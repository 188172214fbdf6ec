/** Snapshots of cells as whoever places them sees it: taken, gone on from, refused, or not to be had. */
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { Answer, Report } from "../../packages/codecell/src/protocol/messages.ts";
import { FEATURE_TABLE } from "../../packages/codecell/src/contract/feature-table.ts";
import { FEATURE_NAMES, type FeatureSettings } from "../../packages/codecell/src/contract/features.ts";
import type { Limits } from "../../packages/codecell/src/contract/limits.ts";
import type { CellStart } from "../../packages/codecell/src/sandbox/sandbox.ts";
import { embeddedWorkerUrl } from "../../packages/codecell/src/sandbox/node/worker-script.ts";
import { liveWorkers } from "../property/worker-threads.ts";
import { CLOCK, createPool, DrivenCell, toStart } from "./cell-driver.ts";
import { startStopwatch } from "../processor-time.ts";

const pool = createPool();
const other = createPool();
afterAll(async () => {
  await pool[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

const cells: DrivenCell[] = [];
afterEach(() => {
  for (const cell of cells.splice(0)) cell.placement.drop();
});

async function place(start: CellStart, on = pool): Promise<DrivenCell> {
  const cell = new DrivenCell(on, start);
  cells.push(cell);
  await cell.reports(1);
  return cell;
}

async function snapshotOf(cell: DrivenCell): Promise<NonNullable<CellStart["snapshot"]>> {
  const bytes = await cell.placement.snapshot();
  if (bytes === undefined) throw new Error("No snapshot");
  return { bytes, progress: cell.progress };
}

/** Runs a source to where it waits, and takes it up again elsewhere. */
async function moved(source: string, steps: number, limits: Partial<Limits> = {}): Promise<DrivenCell> {
  const start = toStart(source);
  const cell = await place(start);
  for (let step = 0; step < steps; step++) await cell.step(0);
  const snapshot = await snapshotOf(cell);
  return await place({ ...toStart(source, limits), snapshot }, other);
}

const output = (call: number, value: unknown): Parameters<DrivenCell["deliver"]>[0] => ({
  clock: CLOCK + 50,
  items: [{ kind: "output", call, output: JSON.stringify(value) }],
});

describe("the size of a snapshot", () => {
  test("does not grow with the number of calls behind it [suspend:flat]", async () => {
    const sizeAfter = async (calls: number): Promise<number> => {
      const cell = await place(
        toStart("let sum = 0; for (;;) sum += (await tools.now({ sum })).text.length"),
      );
      for (let call = 0; call < calls; call++)
        await cell.deliver(output(call, { text: `${call}`.repeat(1000) }));
      return (await snapshotOf(cell)).bytes.length;
    };
    const few = await sizeAfter(10);
    const many = await sizeAfter(400);
    expect(many).toBeLessThan(16 * 1024);
    expect(many).toBeLessThan(1.5 * few);
  });
});

describe("a restored cell", () => {
  test("has the parts of the prelude that it had loaded, and loads others [handles:103]", async () => {
    const program = `
      const blob = new Blob(["é"]);
      const reader = blob.stream().getReader();
      const { id } = await tools.now({});
      const { value } = await reader.read();
      return [id, value instanceof Uint8Array, await blob.text(), await new Response(blob).text(), Buffer.from(value).toString("hex")]`;
    const start: CellStart = { ...toStart(program), features: { web: true } };
    const cell = await place(start);
    const restored = await place({ ...start, snapshot: await snapshotOf(cell) }, other);
    for (const one of [cell, restored]) {
      await one.deliver(output(0, { id: 7 }));
      expect(one.last?.end).toEqual({ status: "returned", result: '[7,true,"é","é","c3a9"]' });
    }
  });

  test("reports nothing twice and goes on where it was", async () => {
    const cell = await moved(
      "console.log('once'); const a = await tools.now({ v: 1 }); console.log('twice'); return a",
      0,
    );
    expect(cell.said[0]).toMatchObject({ calls: [], logs: [], timers: [], end: null, isOver: false });
    await cell.deliver(output(0, 5));
    expect(cell.last).toMatchObject({
      logs: [{ level: "log", text: "twice" }],
      end: { status: "returned", result: "5" },
    });
  });

  test("may come from the worker's file into the embedded worker, and back", async () => {
    await using embedded = createPool(embeddedWorkerUrl());
    const start = toStart("const a = await tools.now({ v: 1 }); return [a, await tools.now({ v: 2 })]");
    const first = await place(start);
    const second = await place({ ...start, snapshot: await snapshotOf(first) }, embedded);
    expect(second).toMatchObject({ loss: undefined, said: [{ calls: [], isOver: false }] });
    await second.deliver(output(0, 5));
    const bytes = await second.placement.snapshot();
    if (bytes === undefined) throw new Error("No snapshot");
    const progress = { deliveries: 1, calls: 2, timers: 0, logs: 0 };
    const third = await place({ ...start, snapshot: { bytes, progress } });
    expect(third).toMatchObject({ loss: undefined, said: [{ calls: [], isOver: false }] });
    await third.deliver(output(1, 6));
    expect(third.last).toMatchObject({ end: { status: "returned", result: "[5,6]" } });
  });

  test("says where an error came from, in the model's own text", async () => {
    const source = [
      "type Row = { a: number };",
      "const row: Row = { a: 1 };",
      "function boom(value: unknown): never {",
      "  throw new TypeError(`bad ${value as string}`);",
      "}",
      "await tools.now({});",
      "boom(row.a as number);",
    ].join("\n");
    const cell = await moved(source, 0);
    await cell.deliver(output(0, null));
    expect(cell.last?.end).toMatchObject({ failure: { failure: { position: { line: 4, column: 30 } } } });
    const unmoved = await place(toStart(source));
    await unmoved.deliver(output(0, null));
    expect(cell.last?.end).toEqual(unmoved.last?.end);
    const failing = await moved("\n\n  await tools.fail({})", 0);
    const failure = { code: "tool_failed", name: "TestError", message: "no" } as const;
    await failing.deliver({ clock: CLOCK, items: [{ kind: "failure", call: 0, failure }] });
    expect(failing.last?.end).toMatchObject({ failure: { call: 0, failure: { position: { line: 3 } } } });
  });

  test("ends without failing when a last expression cannot cross and nobody returned it", async () => {
    const cell = await moved("await tools.now({}); 1n", 0);
    await cell.deliver(output(0, null));
    expect(cell.last?.end).toEqual({ status: "returned", result: "null" });
  });

  test("keeps its return value and its unhandled rejections", async () => {
    const cell = await moved("void tools.late({}); Promise.reject(new Error('lost')); return 7", 0);
    expect(cell.said[0]).toMatchObject({
      end: { status: "returned", result: "7" },
      unhandled: { failure: { message: "Error: lost (line 1, column 41)" } },
      isOver: false,
    });
    await cell.deliver(output(0, null));
    expect(cell.last).toMatchObject({ end: { status: "returned", result: "7" }, isOver: true });
  });

  test("keeps its timers and can clear them", async () => {
    const cell = await moved(
      "const t = setTimeout(() => console.log('never'), 9); setTimeout(() => console.log('tick'), 5); await tools.now({}); clearTimeout(t); await tools.now({})",
      0,
    );
    await cell.deliver({ clock: CLOCK + 5, items: [{ kind: "timer", timer: 2 }] });
    expect(cell.last?.logs).toEqual([{ level: "log", text: "tick" }]);
    await cell.deliver(output(0, null));
    expect(cell.last?.timers).toEqual([{ timer: 1, delayMs: null }]);
    await cell.deliver({ clock: CLOCK + 9, items: [{ kind: "timer", timer: 1 }] });
    expect(cell.last?.logs).toEqual([]);
  });

  test("has the limits of its own placement", async () => {
    const grow = "await tools.now({}); const a = []; for (;;) a.push(new Uint8Array(1e5))";
    const cell = await moved(grow, 0, { memoryBytes: 8 * 1024 * 1024 });
    await cell.deliver(output(0, null));
    expect(cell.last?.end).toMatchObject({
      failure: { failure: { code: "memory_limit", message: expect.stringContaining(`${8 * 1024 * 1024}`) } },
    });
    const deep =
      "await tools.now({}); let n = 0; const f = () => { n++; f() }; try { f() } catch {} return n";
    const depths: number[] = [];
    for (const stackBytes of [32 * 1024, 128 * 1024]) {
      const one = await moved(deep, 0, { stackBytes });
      await one.deliver(output(0, null));
      const end = one.last?.end;
      depths.push(end?.status === "returned" ? Number(end.result) : 0);
    }
    expect(depths[1]).toBeGreaterThan((depths[0] ?? 0) * 2);
  });

  test("keeps its counts of processor time and log bytes", async () => {
    const spin = "for (let i = 0; i < 3e6; i++); await tools.now({}); for (;;);";
    const cell = await moved(spin, 0, { cpuTimeMs: 1 });
    await cell.deliver(output(0, null));
    expect(cell.last?.end).toMatchObject({ failure: { failure: { code: "timeout" } } });
    const chatty = await moved(
      "console.log('x'.repeat(900)); await tools.now({}); console.log('y'.repeat(200))",
      0,
      {
        logBytes: 1000,
      },
    );
    await chatty.deliver(output(0, null));
    expect(chatty.last).toMatchObject({ logs: [], logsDropped: 1 });
  });

  test("can be parked, snapshot again and restored again", async () => {
    const source =
      "const seen = []; for (let i = 0; i < 4; i++) seen.push((await tools.now({ v: i })).v); return seen";
    let cell = await place(toStart(source));
    let { progress } = cell;
    for (let call = 0; call < 4; call++) {
      const bytes = await cell.placement.snapshot();
      if (bytes === undefined) throw new Error("No snapshot");
      cell = await place(
        { ...toStart(source), snapshot: { bytes, progress } },
        call % 2 === 0 ? other : pool,
      );
      // More than there are instances: the cell is parked meanwhile.
      const crowd = Array.from({ length: 70 }, () =>
        place(toStart("await tools.late({})"), call % 2 === 0 ? other : pool),
      );
      await Promise.all(crowd);
      await cell.deliver(output(call, { v: call * 10 }));
      progress = { deliveries: call + 1, calls: Math.min(4, call + 2), timers: 0, logs: 0 };
    }
    expect(cell.last?.end).toEqual({ status: "returned", result: "[0,10,20,30]" });
  });

  test("from a start that waited for its worker gets what was delivered meanwhile", async () => {
    const source = "return (await tools.now({ v: 1 })).v";
    const snapshot = await snapshotOf(await place(toStart(source)));
    const fresh = createPool();
    const cell = new DrivenCell(fresh, { ...toStart(source), snapshot });
    // No worker exists yet.
    cell.placement.deliver(output(0, { v: 9 }));
    await cell.reports(2);
    expect(cell.last?.end).toEqual({ status: "returned", result: "9" });
    await fresh[Symbol.asyncDispose]();
  });
});

describe("a snapshot is refused, and its worker and neighbours live on", () => {
  const source = "const a = await tools.now({ v: 1 }); console.log(a); return await tools.now({ v: a })";

  test.each<[string, (start: CellStart & { snapshot: NonNullable<CellStart["snapshot"]> }) => CellStart]>([
    ["another source", (start) => ({ ...start, source: `${source} ` })],
    ["another language", (start) => ({ ...start, language: "javascript" })],
    ["another seed", (start) => ({ ...start, seed: "00".repeat(32) })],
    ["another clock", (start) => ({ ...start, clock: CLOCK + 1 })],
    ["other tools", (start) => ({ ...start, toolNames: '["fail"]' })],
    ...FEATURE_NAMES.map((name): [string, (start: CellStart) => CellStart] => [
      `another setting of ${name}`,
      (start) => {
        const { [name]: setting, ...others } = start.features;
        const given = { [name]: FEATURE_TABLE[name].setting === "text" ? "[]" : true } as FeatureSettings;
        return { ...start, features: setting === undefined ? { ...others, ...given } : others };
      },
    ]),
    ["fewer calls allowed than made", (start) => ({ ...start, limits: { ...start.limits, calls: 1 } })],
    ...(["deliveries", "calls", "timers", "logs"] as const).map(
      (
        name,
      ): [string, (start: CellStart & { snapshot: NonNullable<CellStart["snapshot"]> }) => CellStart] => [
        `another number of ${name}`,
        (start) => ({
          ...start,
          snapshot: {
            ...start.snapshot,
            progress: { ...start.snapshot.progress, [name]: start.snapshot.progress[name] + 1 },
          },
        }),
      ],
    ),
  ])("%s", async (_name, change) => {
    const cell = await place(toStart(source));
    await cell.step(0);
    const start = { ...toStart(source), snapshot: await snapshotOf(cell) };
    expect((await place(start)).loss).toBeUndefined();
    const workers = liveWorkers().length;
    const refused = await place(change(start));
    expect(refused.loss).toBe("snapshot_refused");
    expect(refused.said).toEqual([]);
    // What is delivered to it all the same finds nobody.
    refused.placement.deliver(output(1, null));
    refused.placement.drop();
    expect(await refused.placement.snapshot()).toBeUndefined();
    expect(liveWorkers().length).toBe(workers);
    await cell.step(0);
    expect(cell.last?.end).toMatchObject({ status: "returned" });
    expect((await place({ ...start, snapshot: undefined, history: cell.deliveries })).last).toMatchObject({
      end: { status: "returned" },
    });
  });
});

describe("there is no snapshot", () => {
  test("if the cell has ended, was dropped or was never placed", async () => {
    const over = await place(toStart("return 1"));
    expect(await over.placement.snapshot()).toBeUndefined();
    const failed = await place(toStart("throw 1"));
    expect(await failed.placement.snapshot()).toBeUndefined();
    const dropped = await place(toStart("await tools.now({})"));
    const asked = dropped.placement.snapshot();
    dropped.placement.drop();
    expect(await asked).toBeUndefined();
    expect(await dropped.placement.snapshot()).toBeUndefined();
    const fresh = createPool();
    const early = new DrivenCell(fresh, toStart("await tools.now({})"));
    expect(await early.placement.snapshot()).toBeUndefined();
    await fresh[Symbol.asyncDispose]();
  });

  test("if the cell ends on a delivery that came before the request", async () => {
    const cell = await place(toStart("return await tools.now({})"));
    const delivered = cell.deliver(output(0, 1));
    expect(await cell.placement.snapshot()).toBeUndefined();
    await delivered;
    expect(cell.last?.isOver).toBe(true);
  });

  test("if another cell holds the worker", async () => {
    const single = createPool();
    const waiting = await place(toStart("await tools.now({}); return 1"), single);
    // In a native loop: one that computes otherwise leaves when others wait.
    const holder = new DrivenCell(single, toStart("Array.prototype.join.call({ length: 2e7 }, '')"));
    const elapsedMs = startStopwatch();
    expect(await waiting.placement.snapshot()).toBeUndefined();
    expect(elapsedMs()).toBeLessThan(1500);
    // Nothing is wrong with it, and it was not moved for that.
    expect(waiting.loss).toBeUndefined();
    await holder.reports(1);
    expect(await waiting.placement.snapshot()).toBeInstanceOf(Uint8Array);
    await single[Symbol.asyncDispose]();
  });

  test("if the cell has too much data for a snapshot, and the cell lives on", async () => {
    const cell = await place(
      toStart("const big = new Uint8Array(30e6).fill(3); await tools.now({}); return big[29999999]"),
    );
    expect(await cell.placement.snapshot()).toBeUndefined();
    await cell.deliver(output(0, null));
    expect(cell.last?.end).toEqual({ status: "returned", result: "3" });
  });

  test("if the pool is closed", async () => {
    const closing = createPool();
    const cell = await place(toStart("await tools.now({})"), closing);
    const asked = cell.placement.snapshot();
    await closing[Symbol.asyncDispose]();
    expect(await asked).toBeUndefined();
  });
});

describe("a worker that was taken over", () => {
  const idle: Report = {
    cell: 1,
    calls: [],
    timers: [],
    logs: [],
    logsDropped: 0,
    cpuTimeMs: 0,
    end: null,
    unhandled: null,
    isOver: false,
  };

  test.each<[string, Answer]>([
    ["a snapshot nobody asked for", { kind: "snapshot", cell: 1, bytes: new Uint8Array(9) }],
    ["a refusal of bytes that are not a snapshot", { kind: "snapshot_refused", cell: 1 }],
    ["a report nobody waits for", idle],
  ])("is ended when it sends %s", async (_name, answer) => {
    const single = createPool();
    const before = new Set(liveWorkers());
    const cell = await place(toStart("await tools.now({})"), single);
    const worker = liveWorkers().find((one) => !before.has(one));
    // Speaks on the thread's own channel, which is heard as strictly.
    worker?.emit("message", [answer]);
    expect(cell.loss).toBe("displaced");
    const next = await place(toStart("return 2"), single);
    expect(next.last?.end).toEqual({ status: "returned", result: "2" });
    await single[Symbol.asyncDispose]();
  });

  test("gives bytes that no worker accepts", async () => {
    const single = createPool();
    const before = new Set(liveWorkers());
    const start = toStart("await tools.now({})");
    const cell = await place(start, single);
    const worker = liveWorkers().find((one) => !before.has(one));
    const asked = cell.placement.snapshot();
    worker?.emit("message", [{ kind: "snapshot", cell: 1, bytes: new Uint8Array(9) }]);
    const bytes = await asked;
    expect(bytes).toEqual(new Uint8Array(9));
    const restored = await place({
      ...start,
      snapshot: { bytes: new Uint8Array(9), progress: cell.progress },
    });
    expect(restored.loss).toBe("snapshot_refused");
    await single[Symbol.asyncDispose]();
  });
});

test("a snapshot inside a larger buffer can be placed, and placed again", async () => {
  const source = "return (await tools.now({})).v";
  const { bytes, progress } = await snapshotOf(await place(toStart(source)));
  const secret = Buffer.alloc(bytes.length + 100, 7);
  secret.set(bytes, 50);
  const view = new Uint8Array(secret.buffer, secret.byteOffset + 50, bytes.length);
  for (let placement = 0; placement < 2; placement++) {
    const cell = await place({ ...toStart(source), snapshot: { bytes: view, progress } });
    await cell.deliver(output(0, { v: placement }));
    expect(cell.last?.end).toEqual({ status: "returned", result: String(placement) });
  }
});
