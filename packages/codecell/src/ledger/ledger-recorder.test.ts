import { describe, expect, test } from "vitest";
import type { CallFailure } from "../contract/failure.ts";
import type { Delivery, TimerChange } from "../contract/ledger.ts";
import type { Report } from "../protocol/messages.ts";
import { resolveLimits } from "../contract/limits.ts";
import { LedgerRecorder } from "./ledger-recorder.ts";

const header = {
  runId: "r",
  source: "",
  language: "javascript",
  seed: "",
  clock: 0,
  limits: resolveLimits(),
  toolNames: [],
  features: {},
} as const;

function report(part: Partial<Report>): Report {
  return {
    cell: 1,
    calls: [],
    timers: [],
    logs: [],
    logsDropped: 0,
    cpuTimeMs: 0,
    end: null,
    unhandled: null,
    isOver: false,
    ...part,
  };
}

const call = (input: string): { tool: string; input: string } => ({ tool: "t", input });
const line = (text: string): { level: "log"; text: string } => ({ level: "log", text });

describe("ledger recorder", () => {
  test("numbers calls in the order in which they were made, over all reports", () => {
    const recorder = new LedgerRecorder(header);
    expect(recorder.read(report({ calls: [call("1"), call("2")] }))).toMatchObject({ firstCall: 0 });
    expect(recorder.read(report({ calls: [call("3")] }))).toMatchObject({ firstCall: 2, calls: [call("3")] });
    expect(recorder.calls).toEqual([call("1"), call("2"), call("3")]);
  });

  test("what a rebuilt cell repeats is not new, and what goes beyond that is", () => {
    const recorder = new LedgerRecorder(header);
    recorder.read(report({ calls: [call("1")], logs: [line("a")], timers: [{ timer: 1, delayMs: 5 }] }));
    recorder.rewind();
    const news = recorder.read(
      report({
        calls: [call("1"), call("2")],
        logs: [line("a"), line("b")],
        timers: [
          { timer: 1, delayMs: 5 },
          { timer: 1, delayMs: null },
        ],
      }),
    );
    expect(news).toEqual({
      firstCall: 1,
      calls: [call("2")],
      logs: [line("b")],
      timers: [{ timer: 1, delayMs: null }],
    });
  });

  describe("a report in pieces", () => {
    const set = (timer: number): { timer: number; delayMs: number } => ({ timer, delayMs: 5 });

    function rewound(): LedgerRecorder {
      const recorder = new LedgerRecorder(header);
      recorder.read(report({ calls: [call("1"), call("2"), call("3")], timers: [set(1), set(2)] }));
      recorder.rewind();
      return recorder;
    }

    test("is read as if it had come at once", () => {
      const recorder = rewound();
      recorder.readPiece({ calls: [call("1"), call("2")], timers: [] });
      recorder.readPiece({ calls: [call("3"), call("4")], timers: [set(1)] });
      expect(recorder.calls).toHaveLength(3);
      expect(recorder.read(report({ calls: [call("5")], timers: [set(2), set(3)] }))).toEqual({
        firstCall: 3,
        calls: [call("4"), call("5")],
        timers: [set(3)],
        logs: [],
      });
      expect(recorder.calls).toEqual(["1", "2", "3", "4", "5"].map(call));
      expect(recorder.progress).toMatchObject({ calls: 5, timers: 3 });
      expect(recorder.seen.timers).toBe(3);
    });

    test("has diverged if any piece differs from the ledger", () => {
      for (const wrong of [0, 1, 2]) {
        const recorder = rewound();
        const calls = ["1", "2", "3"].map((input, at) => call(at === wrong ? "other" : input));
        recorder.readPiece({ calls: calls.slice(0, 1), timers: [] });
        recorder.readPiece({ calls: calls.slice(1, 2), timers: [] });
        expect(recorder.read(report({ calls: calls.slice(2) }))).toBeUndefined();
        expect(recorder.calls).toHaveLength(3);
      }
    });

    test("is forgotten if the cell is lost before the last piece", () => {
      const recorder = rewound();
      recorder.readPiece({ calls: [call("1"), call("2"), call("3"), call("4")], timers: [set(1)] });
      recorder.rewind();
      recorder.readPiece({ calls: [call("other")], timers: [] });
      recorder.rewind();
      const again = report({ calls: ["1", "2", "3"].map(call), timers: [set(1), set(2)] });
      expect(recorder.read(again)).toEqual({ firstCall: 3, calls: [], timers: [], logs: [] });
    });
  });

  describe("a program that repeats the past of another run", () => {
    const fired = (...timers: number[]): Delivery => ({
      clock: 1,
      items: timers.map((timer) => ({ kind: "timer", timer })),
    });
    const set = (timer: number, delayMs: number | null = 5): TimerChange => ({ timer, delayMs });
    const deliveries = [fired(3, 1), fired(3), fired(3), fired(9)];
    const repeating = (): LedgerRecorder =>
      new LedgerRecorder(header, { calls: [], deliveries, isRepeated: true });

    test("has the timers left that were set more often than they fired, and not cleared", () => {
      const recorder = repeating();
      recorder.readPiece({ calls: [], timers: [set(1), set(2), set(3), set(4), set(3)] });
      recorder.readPiece({ calls: [], timers: [set(4, null), set(3), set(9), set(9, null), set(3, 6)] });
      const news = recorder.read(report({ timers: [set(10), set(2, 7), set(0)] }));
      expect(news?.timers).toEqual([set(3, 6), set(10), set(2, 7), set(0)]);
      expect(recorder.seen.timers).toBe(13);
      expect(recorder.read(report({ timers: [set(3), set(2, null)] }))?.timers).toEqual([
        set(3),
        set(2, null),
      ]);
    });

    test("begins to count again if its cell is lost before the last piece", () => {
      const recorder = repeating();
      recorder.readPiece({ calls: [], timers: [set(1), set(2), set(3), set(3)] });
      recorder.rewind();
      recorder.readPiece({ calls: [], timers: [set(1), set(3), set(3)] });
      expect(recorder.read(report({ timers: [set(3), set(3), set(2)] }))?.timers).toEqual([set(3), set(2)]);
    });
  });

  test("keeps only the known fields of calls and timers that a worker sends", () => {
    const recorder = new LedgerRecorder(header);
    const more = { notJson: 1n };
    const timer = { timer: 1, delayMs: 5 };
    const news = recorder.read(
      report({ calls: [{ ...call("1"), ...more }], timers: [{ ...timer, ...more }] }),
    );
    expect(news).toEqual({ firstCall: 0, calls: [call("1")], timers: [timer], logs: [] });
    expect(recorder.toLedger().calls).toEqual([call("1")]);
  });

  test("the texts of failures count towards its size, like outputs", () => {
    const sizeWith = (failure: CallFailure): number => {
      const recorder = new LedgerRecorder(header);
      recorder.addDelivery({ clock: 1, items: [{ kind: "failure", call: 0, failure }] });
      return recorder.size;
    };
    const least = sizeWith({ code: "tool_failed", name: "", message: "" });
    const words = { name: "n".repeat(10), message: "m".repeat(1000) };
    expect(sizeWith({ code: "tool_failed", ...words })).toBe(least + 1010);
    const codes = { toolCode: "t".repeat(20), shownCode: "s".repeat(30) };
    expect(sizeWith({ code: "tool_failed", ...words, ...codes })).toBe(least + 1060);
  });

  test("a rebuilt cell that does not repeat every call has diverged, unless it failed before", () => {
    const recorder = new LedgerRecorder(header);
    recorder.read(report({ calls: [call("1"), call("2")] }));
    const failed = {
      status: "failed",
      failure: { failure: { code: "timeout", message: "" }, call: null },
    } as const;
    const returned = { status: "returned", result: "1" } as const;
    for (const calls of [[], [call("1")]]) {
      for (const end of [null, returned, failed]) {
        recorder.rewind();
        const news = recorder.read(report({ calls, end }));
        if (end === failed) expect(news).toMatchObject({ calls: [] });
        else expect(news).toBeUndefined();
      }
    }
    expect(recorder.calls).toEqual([call("1"), call("2")]);
  });

  test("a cell that goes on from a snapshot repeats only what came after it", () => {
    const recorder = new LedgerRecorder(header);
    recorder.read(report({ calls: [call("1")], logs: [line("a")], timers: [{ timer: 1, delayMs: 5 }] }));
    const first = { clock: 1, items: [{ kind: "output", call: 0, output: "1" }] } as const;
    recorder.addDelivery(first);
    const before = { deliveries: 0, calls: 1, timers: 1, logs: 1 };
    recorder.read(report({ calls: [call("2")], logs: [line("b")] }));
    expect(recorder.progress).toEqual({ deliveries: 1, calls: 2, timers: 1, logs: 2 });
    expect(recorder.rewindTo(before)).toEqual([first]);
    expect(recorder.progress).toMatchObject({ calls: 1, timers: 1, logs: 1 });
    const repeated = recorder.read(report({ calls: [call("2"), call("3")], logs: [line("b"), line("c")] }));
    expect(repeated).toEqual({ firstCall: 2, calls: [call("3")], logs: [line("c")], timers: [] });
    recorder.rewindTo({ deliveries: 1, calls: 2, timers: 1, logs: 2 });
    expect(recorder.read(report({ calls: [call("another")] }))).toBeUndefined();
  });

  test("a run taken up again from a snapshot in another process knows what was logged", () => {
    const past = {
      calls: [call("1")],
      deliveries: [],
      seen: { timers: 1, logs: 2, logsDropped: 0, cpuTimeMs: 0 },
    };
    const recorder = new LedgerRecorder(header, past);
    expect(recorder.rewindTo({ deliveries: 0, calls: 1, timers: 1, logs: 2 })).toEqual([]);
    const news = recorder.read(report({ calls: [call("2")], logs: [line("c")] }));
    expect(news).toMatchObject({ firstCall: 1, calls: [call("2")], logs: [line("c")] });
  });

  test.each([
    ["deliveries", { deliveries: 1, calls: 0, timers: 0, logs: 0 }],
    ["calls", { deliveries: 0, calls: 2, timers: 0, logs: 0 }],
  ])("does not go on from a snapshot with more %s than the ledger", (_name, progress) => {
    const recorder = new LedgerRecorder(header);
    recorder.read(report({ calls: [call("1")] }));
    expect(recorder.rewindTo(progress)).toBeUndefined();
    expect(recorder.progress).toEqual({ deliveries: 0, calls: 1, timers: 0, logs: 0 });
  });

  test.each([
    ["another input", [call("2")]],
    ["another tool", [{ tool: "u", input: "1" }]],
  ])("%s in a repeated call is a divergence", (_name, calls) => {
    const recorder = new LedgerRecorder(header);
    recorder.read(report({ calls: [call("1")] }));
    recorder.rewind();
    expect(recorder.read(report({ calls }))).toBeUndefined();
  });

  test("a yield is open until its outcome is delivered, also in a recorder made from a ledger", () => {
    const yielding = { tool: "yield_control", input: '"x"' };
    const recorder = new LedgerRecorder({ ...header, features: { yield: true } });
    recorder.read(report({ calls: [yielding, call("1"), yielding] }));
    expect([...recorder.openYields]).toEqual([0, 2]);
    recorder.rewind();
    recorder.read(report({ calls: [yielding, call("1"), yielding, yielding] }));
    expect([...recorder.openYields]).toEqual([0, 2, 3]);
    recorder.addDelivery({
      clock: 1,
      items: [
        { kind: "output", call: 2, output: "null" },
        { kind: "timer", timer: 0 },
        { kind: "output", call: 1, output: "null" },
      ],
    });
    expect([...recorder.openYields]).toEqual([0, 3]);
    expect([...new LedgerRecorder(recorder.header, recorder.toLedger()).openYields]).toEqual([0, 3]);
  });

  test("where the program may not yield, a call named yield_control is an ordinary call", () => {
    const recorder = new LedgerRecorder(header);
    recorder.read(report({ calls: [{ tool: "yield_control", input: "null" }] }));
    expect(recorder.openYields.size).toBe(0);
  });

  test("counts the size of inputs, outputs and failures, and remembers failures", () => {
    const recorder = new LedgerRecorder(header);
    recorder.read(report({ calls: [call("12345")] }));
    const failure = { code: "tool_failed", name: "Error", message: "no" } as const;
    recorder.addDelivery({ clock: 1, items: [{ kind: "output", call: 0, output: "123" }] });
    recorder.addDelivery({ clock: 2, items: [{ kind: "failure", call: 1, failure }] });
    expect(recorder.size).toBe(15 + 2 * 64 + 2 * 64);
    expect(recorder.failureOf(1)).toEqual(failure);
    expect(recorder.failureOf(0)).toBeUndefined();
    expect(new LedgerRecorder(header, recorder.toLedger()).size).toBe(15 + 2 * 64 + 2 * 64);
  });
});
