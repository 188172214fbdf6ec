/** A guest may have taken over its worker: whatever the worker sends, the host neither throws nor exits. */
import fc from "fast-check";
import { afterAll, describe, expect, test, vi } from "vitest";
import { createHost, type RunResult } from "codecell";
import { FAILURE_CODES } from "../../packages/codecell/src/contract/failure.ts";
import { parseAnswers, type Report } from "../../packages/codecell/src/protocol/messages.ts";
import { effort, TIMES } from "./effort.ts";
import { liveWorkers } from "./worker-threads.ts";

vi.setConfig({ testTimeout: 60_000 * TIMES });

const anything = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
  withObjectString: true,
  withSparseArray: true,
  withTypedArray: true,
  withUnicodeString: true,
});

/** Mostly a valid value, sometimes any other. */
const or = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 12, arbitrary }, { weight: 1, arbitrary: anything });

const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("echo", "nope", "yield_control", "__proto__", "", "{bad", "[1]", "null"),
);
const count = fc.oneof(fc.nat(6), fc.maxSafeNat(), fc.constantFrom(-1, 0.5, Number.NaN, 2 ** 31, 2 ** 53));
const guestError = fc.record(
  { name: or(text), message: or(text), stack: or(text) },
  { requiredKeys: ["name", "message"] },
);
const failure = fc.record(
  {
    code: or(fc.constantFrom(...Object.keys(FAILURE_CODES), "nonsense", "__proto__")),
    message: or(text),
    position: or(fc.record({ line: or(count), column: or(count) })),
    error: or(guestError),
    details: or(fc.constant(undefined)),
  },
  { requiredKeys: ["code", "message"] },
);
const cellFailure = fc.record({ failure: or(failure), call: or(fc.option(count)) });
const end = fc.oneof(
  fc.constant(null),
  fc.record({ status: fc.constant("returned"), result: or(text) }),
  fc.record({ status: fc.constant("failed"), failure: or(cellFailure) }),
);
const report = fc.record({
  cell: or(fc.nat(6)),
  calls: or(fc.array(or(fc.record({ tool: or(text), input: or(text) })), { maxLength: 4 })),
  timers: or(fc.array(or(fc.record({ timer: or(count), delayMs: or(fc.option(count)) })), { maxLength: 4 })),
  logs: or(
    fc.array(or(fc.record({ level: or(fc.constantFrom("log", "error", "fatal")), text: or(text) })), {
      maxLength: 4,
    }),
  ),
  logsDropped: or(count),
  cpuTimeMs: or(fc.oneof(fc.double(), count)),
  end: or(end),
  unhandled: or(fc.option(cellFailure)),
  isOver: or(fc.boolean()),
});
const snapshot = fc.record({
  kind: or(fc.constantFrom("snapshot", "snapshot_refused", "computes", "nonsense")),
  cell: or(fc.nat(6)),
  bytes: or(
    fc.oneof(
      fc.constant(null),
      fc.uint8Array().map((bytes) => new Uint8Array(bytes)),
      fc.uint8Array().map((bytes) => new Uint8Array(new SharedArrayBuffer(bytes.length))),
    ),
  ),
});
const piece = report.map((one) => ({ ...one, kind: "piece" }));
const message = or(
  fc.array(or(fc.oneof({ weight: 3, arbitrary: report }, piece, snapshot)), { maxLength: 5 }),
);

describe("parseAnswers", () => {
  test("gives answers or nothing for any message, and never throws", () => {
    fc.assert(
      fc.property(message, (sent) => {
        const answers = parseAnswers(sent);
        if (answers === undefined) return;
        for (const answer of answers) {
          expect(Number.isSafeInteger(answer.cell)).toBe(true);
          if (answer.kind === "snapshot") {
            if (answer.bytes !== null) expect(answer.bytes.buffer).toBeInstanceOf(ArrayBuffer);
            continue;
          }
          expect(["snapshot_refused", "computes", "piece", undefined]).toContain(answer.kind);
          if (answer.kind !== undefined && answer.kind !== "piece") continue;
          const { calls, timers } = answer;
          for (const { tool, input } of calls)
            expect([typeof tool, typeof input]).toEqual(["string", "string"]);
          for (const { timer } of timers) expect(Number.isSafeInteger(timer)).toBe(true);
          if (answer.kind === "piece") continue;
          const { logs, end: ended } = answer;
          for (const { level } of logs) expect(["debug", "log", "info", "warn", "error"]).toContain(level);
          expect([undefined, "returned", "failed"]).toContain(ended?.status);
        }
      }),
      effort(2000),
    );
  });

  const honest: Report = {
    cell: 1,
    calls: [],
    timers: [],
    logs: [],
    logsDropped: 0,
    cpuTimeMs: 0.5,
    end: null,
    unhandled: null,
    isOver: false,
  };

  test("accepts messages of honest workers", () => {
    expect(parseAnswers([honest])).toEqual([honest]);
  });

  test("refuses arrays with holes", () => {
    const holes = Array.from<unknown>({ length: 0 });
    holes.length = 1_000_000;
    expect(parseAnswers(holes)).toBeUndefined();
    for (const field of ["calls", "timers", "logs"]) {
      expect(parseAnswers([{ ...honest, [field]: holes }]), field).toBeUndefined();
    }
  });
});

/** A report with far more in it than any limit allows. */
const flood = (cell: number): Report => ({
  cell,
  calls: Array.from({ length: 200_000 }, () => ({ tool: "echo", input: "1" })),
  timers: Array.from({ length: 200_000 }, (_, timer) => ({ timer, delayMs: 1 })),
  logs: Array.from({ length: 200_000 }, () => ({ level: "log" as const, text: "" })),
  logsDropped: 0,
  cpuTimeMs: 0,
  end: null,
  unhandled: null,
  isOver: false,
});

async function expectSettled(result: Promise<RunResult>): Promise<void> {
  const settled = await result;
  expect(["completed", "suspended", "failed"]).toContain(settled.status);
  if (settled.status === "failed") expect(Object.keys(FAILURE_CODES)).toContain(settled.failure.code);
}

describe("a host whose worker sends arbitrary messages", () => {
  const tools = { echo: { execute: (input: unknown) => input } };
  const source = "return [await tools.echo(1), await tools.echo(2)]";

  async function expectSound(host: ReturnType<typeof createHost>): Promise<void> {
    const next = await host.start({ source, tools }).result;
    expect(next).toMatchObject({ status: "completed", value: [1, 2] });
  }

  const uncaught: unknown[] = [];
  const note = (error: unknown): void => void uncaught.push(error);
  process.on("uncaughtException", note);
  process.on("unhandledRejection", note);
  afterAll(() => {
    process.off("uncaughtException", note);
    process.off("unhandledRejection", note);
    expect(uncaught).toEqual([]);
  });

  test("settles its runs and serves the next", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async (messages, early) => {
          await using host = createHost({ workers: 1 });
          if (!early) await expectSound(host);
          const runs = [1, 2, 3].map(
            () => host.start({ source, tools, mayYield: true, limits: { wallTimeMs: 3000 } }).result,
          );
          // The worker exists once the engine is loaded.
          while (liveWorkers().length === 0) await new Promise((resolve) => setImmediate(resolve));
          // As if the thread had sent it. A listener that throws would throw here.
          for (const one of messages) for (const worker of liveWorkers()) worker.emit("message", one);
          await Promise.all(runs.map(expectSettled));
          await expectSound(host);
        },
      ),
      effort(25),
    );
    expect(uncaught).toEqual([]);
  });

  test("survives reports beyond every limit", async () => {
    await using host = createHost({ workers: 1 });
    await expectSound(host);
    const runs = [1, 2].map(() => host.start({ source, tools, limits: { wallTimeMs: 3000 } }).result);
    for (const worker of liveWorkers()) worker.emit("message", [flood(2), flood(3)]);
    await Promise.all(runs.map(expectSettled));
    await expectSound(host);
    expect(uncaught).toEqual([]);
  });

  test("survives pieces of reports that it did not ask for", async () => {
    await using host = createHost({ workers: 1 });
    await expectSound(host);
    const runs = [1, 2].map(() => host.start({ source, tools, limits: { wallTimeMs: 3000 } }).result);
    const { calls, timers } = flood(2);
    for (const cell of [2, 3]) {
      for (const worker of liveWorkers()) worker.emit("message", [{ kind: "piece", cell, calls, timers }]);
    }
    await Promise.all(runs.map(expectSettled));
    await expectSound(host);
    expect(uncaught).toEqual([]);
  });

  test("survives errors, undecodable messages and exits of its worker at any moment", async () => {
    await using host = createHost({ workers: 1 });
    for (const event of ["messageerror", "error", "exit"]) {
      const run = host.start({ source, tools }).result;
      while (liveWorkers().length === 0) await new Promise((resolve) => setImmediate(resolve));
      for (const worker of liveWorkers()) worker.emit(event, new Error("from the worker"));
      await expectSettled(run);
      await expectSound(host);
    }
    expect(uncaught).toEqual([]);
  });
});
