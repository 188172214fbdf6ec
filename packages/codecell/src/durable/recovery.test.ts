import { expect, test } from "vitest";
import { FETCH_TOOL } from "../contract/features.ts";
import { resolveLimits } from "../contract/limits.ts";
import { atOnce, inTurns } from "../loop/turn.ts";
import { largestTurnMs } from "../../../../test/fuzz/thread-time.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { isRepeatable, recover } from "./recovery.ts";
import type { SuspendedRun } from "./suspended-run.ts";

const STATE: SuspendedRun = {
  id: "s",
  scope: "",
  expiresAt: 0,
  ledger: {
    version: 2,
    runId: "r",
    source: "",
    language: "javascript",
    seed: "",
    clock: 1,
    limits: resolveLimits(),
    toolNames: [],
    features: {},
    calls: [],
    deliveries: [],
  },
  seen: { timers: 0, logs: 0, logsDropped: 0, cpuTimeMs: 0 },
  timers: [],
  pending: [],
  executing: [],
  resolutions: [],
};

test("a recorded fetch can be made again when it changes nothing", () => {
  const inputs = [
    '{"method":"GET"}',
    '{"method":"head"}',
    '{"method":"POST"}',
    '{"method":7}',
    "{}",
    "null",
    "{",
  ];
  const repeated = inputs.map((input) => isRepeatable({}, { fetch: true }, { tool: FETCH_TOOL, input }));
  expect(repeated).toEqual([true, true, false, false, false, false, false]);
});

test("a tool with the name of a fetch speaks for itself", () => {
  const call = { tool: FETCH_TOOL, input: '{"method":"GET"}' };
  expect(isRepeatable({ [FETCH_TOOL]: { execute: () => 1 } }, {}, call)).toBe(false);
  expect(isRepeatable({ [FETCH_TOOL]: { idempotent: true, execute: () => 1 } }, {}, call)).toBe(true);
  expect(isRepeatable({}, {}, call)).toBe(false);
});

test("a call that no tool serves is not made again", () => {
  const names = ["gone", "yield_control", "catalog.search"];
  expect(names.map((tool) => isRepeatable({}, {}, { tool, input: "{}" }))).toEqual([false, false, false]);
});

test("a fork has the timers of its past to repeat until it has said what it saw of them", () => {
  const seen = { timers: 1, logs: 0, logsDropped: 0, cpuTimeMs: 0 };
  const fork: SuspendedRun = { ...STATE, isRepeated: true };
  const isRepeated = (state: SuspendedRun, ...entries: JournalEntry[]): boolean =>
    atOnce(recover({ state, entries, outcomes: new Map(), saved: undefined }, {}, () => false)).recorder
      .isRepeated;
  expect(isRepeated(fork)).toBe(true);
  expect(isRepeated(fork, { kind: "taken", at: 1 })).toBe(true);
  expect(isRepeated(fork, { kind: "report", at: 1, calls: [], timers: [], seen })).toBe(false);
  expect(isRepeated(STATE)).toBe(false);
});

test("a journal of as many timers as may fire is read in turns [host:short-turns]", async () => {
  const { seen } = STATE;
  const { limits } = STATE.ledger;
  // A timer that fires alone counts 128.
  const entries = Array.from({ length: limits.ledgerSize / 128 }, (_, timer): JournalEntry[] => [
    { kind: "report", at: 0, calls: [], timers: [{ timer, delayMs: 1 }], seen },
    { kind: "delivery", delivery: { clock: 1, items: [{ kind: "timer", timer }] } },
  ]).flat();
  const given = { state: STATE, entries, outcomes: new Map(), saved: undefined };
  const lengths: number[] = [];
  const longest = await largestTurnMs(
    () => async () => {
      const { recorder, timers } = await inTurns(recover(given, {}, () => false));
      lengths.push(recorder.deliveries.length, timers.length);
    },
    { attempts: 4, enough: 50 },
  );
  expect(lengths.slice(0, 2)).toEqual([limits.ledgerSize / 128, 0]);
  expect(longest).toBeLessThan(50);
}, 120_000);
