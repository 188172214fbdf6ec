import { describe, expect, test } from "vitest";
import { resolveLimits } from "../contract/limits.ts";
import { LedgerRecorder } from "./ledger-recorder.ts";
import type { SuspendedRun } from "../durable/suspended-run.ts";
import type { JournalEntry } from "../durable/journal-entry.ts";
import { recover } from "../durable/recovery.ts";
import type { RunPast } from "../durable/run-past.ts";
import { atOnce } from "../loop/turn.ts";
import { reasonsOf } from "./yields.ts";

const header = {
  runId: "r",
  source: "",
  language: "javascript",
  seed: "",
  clock: 0,
  limits: resolveLimits({ callInputBytes: 20 }),
  toolNames: [],
  features: { yield: true },
} as const;
const yielding = (input = "null"): { tool: string; input: string } => ({ tool: "yield_control", input });
const end = (call: number): object => ({ kind: "output", call, output: "null" });

describe("the reasons of yields", () => {
  test("are the reasons of open yields, in order", async () => {
    const calls = [yielding('"a"'), yielding('"b"'), { tool: "t", input: '"t"' }, yielding()];
    const deliveries = [{ clock: 1, items: [{ kind: "output", call: 0, output: "null" }] }] as const;
    expect(await reasonsOf(new LedgerRecorder(header, { calls, deliveries }))).toEqual(["b", ""]);
  });

  test.each(["", "{bad", "5", '{"a":1}', '"long enough to be too long"'])(
    "are empty where a worker made up the input: %j",
    async (input) => {
      expect(
        await reasonsOf(new LedgerRecorder(header, { calls: [yielding(input)], deliveries: [] })),
      ).toEqual([""]);
    },
  );
});

function recovered(state: SuspendedRun, entries: readonly JournalEntry[]): RunPast {
  return atOnce(recover({ state, entries, outcomes: new Map(), saved: undefined }, {}, () => false));
}

describe("recovery", () => {
  const seen = { timers: 0, logs: 0, logsDropped: 0, cpuTimeMs: 0 };
  const state: SuspendedRun = {
    id: "s",
    scope: "",
    expiresAt: 0,
    ledger: { version: 2, ...header, calls: [yielding(), yielding()], deliveries: [] },
    seen,
    timers: [],
    pending: [],
    executing: [],
    resolutions: [],
  };
  const report = { kind: "report", at: 0, calls: [yielding()], timers: [], seen } as const;

  test("ends the yields that the suspension told of, and leaves later yields open", () => {
    const { items, open, pending, recorder } = recovered(state, [report]);
    expect(items).toEqual([end(0), end(1)]);
    expect(open.size).toBe(0);
    expect([...pending]).toEqual([]);
    expect(recorder.calls).toHaveLength(3);
  });

  test("ends no yield a second time", () => {
    const items = [{ kind: "output", call: 1, output: "null" }] as const;
    const delivery = { kind: "delivery", delivery: { clock: 1, items } } as const;
    expect(recovered(state, [delivery]).items).toEqual([end(0)]);
  });

  test("where the program may not yield, a call named yield_control is an open call", () => {
    const ledger = { ...state.ledger, features: {} };
    const { items, open } = recovered({ ...state, ledger }, []);
    expect([items, [...open.keys()]]).toEqual([[], [0, 1]]);
  });
});
