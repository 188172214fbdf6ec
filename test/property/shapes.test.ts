/**
 * Reading a journal, a suspended run or a message gives what was written, or nothing.
 *
 * A schema here describes the parts of a ledger a second time, to compare.
 */
import { atOnce } from "../../packages/codecell/src/loop/turn.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { parseAnswers, parseCommands, type Report } from "../../packages/codecell/src/protocol/messages.ts";
import type { Ledger } from "../../packages/codecell/src/contract/ledger.ts";
import { resolveLimits } from "../../packages/codecell/src/contract/limits.ts";
import {
  parseJournalEntries,
  parseOutcome,
  parseProgress,
} from "../../packages/codecell/src/durable/journal-entry.ts";
import { foldJournal } from "../../packages/codecell/src/durable/fold-journal.ts";
import { toJsonBytes } from "../../packages/codecell/src/durable/json-bytes.ts";
import {
  parseHeader,
  parseSuspendedRun,
  type SuspendedRun,
  sealableSteps,
} from "../../packages/codecell/src/durable/suspended-run.ts";
import { effort } from "./effort.ts";
import { json, spoilt, written } from "./ledger-parts.ts";

const count = z.int().min(0);
const callFailure = z.object({
  code: z.string(),
  name: z.string(),
  message: z.string(),
  toolCode: z.string().optional(),
});
const outcomes = [
  z.object({ kind: z.literal("output"), call: count, output: z.string() }),
  z.object({ kind: z.literal("failure"), call: count, failure: callFailure }),
] as const;
const asked = z.object({ kind: z.literal("asked"), call: count, payload: z.json() });
const delivery = z.object({
  clock: z.number().min(0),
  items: z.array(z.union([...outcomes, z.object({ kind: z.literal("timer"), timer: count })])),
});
const calls = z.array(z.object({ tool: z.string(), input: z.string() }));
const timers = z.array(z.object({ timer: count, delayMs: count.nullable() }));
const resolution = z.union([
  z.object({ deny: z.string() }),
  z.object({ deny: z.never().optional(), resolution: z.json() }),
]);
const entry = z.union([
  z.object({
    kind: z.literal("report"),
    at: count,
    calls,
    timers,
    seen: z.object({ timers: count, logs: count, logsDropped: count, cpuTimeMs: z.number().min(0) }),
  }),
  z.object({ kind: z.literal("dispatch"), call: count, resolution: resolution.optional() }),
  asked,
  z.object({ kind: z.literal("delivery"), delivery }),
  z.object({ kind: z.literal("taken"), at: count }),
  z.object({ kind: z.literal("suspended"), waitState: z.json() }),
]);
const progress = z.object({ deliveries: count, calls: count, timers: count, logs: count });
const lateOutcome = z.union([...outcomes, asked]);

/** Expects that well-shaped values are read unchanged and others refused, and that both occur. */
function expectReads(
  given: fc.Arbitrary<unknown>,
  parse: (bytes: Uint8Array) => unknown,
  schema: z.ZodType,
): void {
  let [read, refused] = [0, 0];
  fc.assert(
    fc.property(fc.oneof({ weight: 9, arbitrary: given }, json), (value) => {
      const bytes = toJsonBytes(value ?? null);
      const printed: unknown = JSON.parse(bytes.toString());
      const parsed = parse(bytes);
      expect(parsed).toEqual(schema.safeParse(printed).success ? printed : undefined);
      if (parsed === undefined) refused++;
      else read++;
    }),
    effort(3000),
  );
  expect(Math.min(read, refused)).toBeGreaterThan(100);
}

describe("a journal", () => {
  test("gives back the entries and outcomes that were written", () => {
    fc.assert(
      fc.property(fc.array(written.entry), written.outcome, written.progress, (ones, other, third) => {
        expect(atOnce(parseJournalEntries(toJsonBytes(ones)))).toEqual(ones);
        expect(atOnce(parseOutcome(toJsonBytes(other)))).toEqual(other);
        expect(parseProgress(toJsonBytes(third))).toEqual(third);
      }),
      effort(500),
    );
  });

  test("gives entries that are well shaped, or nothing, for any JSON", () => {
    expectReads(
      fc.array(spoilt.entry, { maxLength: 2 }),
      (bytes) => atOnce(parseJournalEntries(bytes)),
      z.array(entry),
    );
  });

  test("gives outcomes that are well shaped, or nothing, for any JSON", () => {
    expectReads(spoilt.outcome, (bytes) => atOnce(parseOutcome(bytes)), lateOutcome);
  });

  test("gives the place of a snapshot that is well shaped, or nothing, for any JSON", () => {
    expectReads(spoilt.progress, parseProgress, progress);
  });

  test("gives nothing for bytes that are not JSON", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(atOnce(parseJournalEntries(bytes))).toBeUndefined();
        expect(atOnce(parseOutcome(bytes))).toBeUndefined();
        expect(parseProgress(bytes)).toBeUndefined();
      }),
    );
  });
});

const LIMITS = resolveLimits();
const CALLS = 3;

function runWith(part: typeof written): fc.Arbitrary<SuspendedRun> {
  const index = fc.nat(CALLS - 1);
  return fc.record({
    id: fc.string(),
    scope: fc.string({ unit: "binary" }),
    expiresAt: fc.nat(),
    ledger: fc.record({
      version: fc.constant(2 as const),
      runId: fc.string(),
      source: fc.string({ unit: "binary" }),
      language: fc.constantFrom("javascript", "typescript"),
      seed: fc.string(),
      clock: fc.nat(),
      limits: fc.constant(LIMITS),
      toolNames: fc.array(fc.string()),
      features: fc.constantFrom({}, { yield: true }, { catalog: "[]", detachedFails: true, fetch: true }),
      calls: fc.array(part.call, { minLength: CALLS, maxLength: CALLS }),
      deliveries: fc.array(part.delivery, { maxLength: 2 }),
    }),
    seen: part.seen,
    timers: fc.array(part.timer, { maxLength: 2 }),
    pending: fc.constant([]),
    executing: fc.array(fc.tuple(index, fc.string()), { maxLength: 2 }),
    resolutions: fc.array(fc.tuple(index, part.resolution), { maxLength: 2 }),
  });
}

/** What a token or store checks beyond the shapes of the parts. */
function isWhole({ ledger, timers: set }: SuspendedRun): boolean {
  return (
    set.every(({ delayMs }) => delayMs !== null) &&
    ledger.deliveries.every(({ items }) => items.every((one) => one.kind === "timer" || one.call < CALLS))
  );
}

function reread(run: SuspendedRun): SuspendedRun | undefined {
  const { header, content } = atOnce(sealableSteps(run));
  const parsed = parseHeader(header);
  return parsed === undefined ? undefined : atOnce(parseSuspendedRun(parsed, content));
}

describe("a suspended run", () => {
  test("comes back as it was, or is refused if it refers to calls that it does not have", () => {
    let whole = 0;
    fc.assert(
      fc.property(runWith(written), (run) => {
        expect(reread(run)).toEqual(isWhole(run) ? run : undefined);
        if (isWhole(run)) whole++;
      }),
      effort(500),
    );
    expect(whole).toBeGreaterThan(50);
  });

  test("at the end of a journal is read and refused in the same way", () => {
    let [read, refused] = [0, 0];
    fc.assert(
      fc.property(fc.oneof(runWith(written), runWith(spoilt)), (given) => {
        const { ledger, scope, ...waitState } = JSON.parse(JSON.stringify(given)) as SuspendedRun;
        // A journal's own entries were checked when they were parsed.
        const { calls: made, deliveries } = runLedger(ledger) ?? { calls: [], deliveries: [] };
        const whole = reread({ ...waitState, scope, ledger: { ...ledger, calls: made, deliveries } });
        const { seen } = NOT_STARTED;
        const first = { ...NOT_STARTED, scope, ledger: { ...ledger, calls: [], deliveries: [] } };
        const folded = foldJournal(first, [
          { kind: "report", at: 0, calls: made, timers: [], seen },
          ...deliveries.map((one) => ({ kind: "delivery", delivery: one }) as const),
          { kind: "suspended", waitState },
        ]);
        expect(folded?.state).toEqual(whole);
        expect(folded?.entries ?? []).toEqual([]);
        if (whole === undefined) refused++;
        else read++;
      }),
      effort(1000),
    );
    expect(Math.min(read, refused)).toBeGreaterThan(50);
  });
});

/** Undefined if an entry of a journal could not hold these parts. */
function runLedger({ calls: made, deliveries }: Ledger): Pick<Ledger, "calls" | "deliveries"> | undefined {
  return calls.safeParse(made).success && z.array(delivery).safeParse(deliveries).success
    ? { calls: made, deliveries }
    : undefined;
}

const NOT_STARTED = {
  id: "first",
  expiresAt: 1,
  seen: { timers: 0, logs: 0, logsDropped: 0, cpuTimeMs: 0 },
  timers: [],
  pending: [],
  executing: [],
  resolutions: [],
};

describe("messages, journals and suspended runs", () => {
  const isRead = (value: object): boolean => atOnce(parseJournalEntries(toJsonBytes([value]))) !== undefined;

  test("agree on what a delivery is", () => {
    fc.assert(
      fc.property(spoilt.delivery, (given) => {
        const one: unknown = JSON.parse(JSON.stringify(given));
        const isMessage = parseCommands([{ type: "deliver", cell: 1, delivery: one }]) !== undefined;
        expect(isRead({ kind: "delivery", delivery: one })).toBe(isMessage);
      }),
      effort(1000),
    );
  });

  test("agree on what calls and timers are", () => {
    const nothing = { timers: 0, logs: 0, logsDropped: 0, cpuTimeMs: 0 };
    const part = fc.record({ calls: fc.array(spoilt.call), timers: fc.array(spoilt.timer) });
    fc.assert(
      fc.property(part, (given) => {
        const one = JSON.parse(JSON.stringify(given)) as Pick<Report, "calls" | "timers">;
        const rest = { cell: 1, logs: [], logsDropped: 0, cpuTimeMs: 0, end: null, unhandled: null };
        const isMessage = parseAnswers([{ ...rest, ...one, isOver: false }]) !== undefined;
        expect(isRead({ kind: "report", at: 0, ...one, seen: nothing })).toBe(isMessage);
      }),
      effort(1000),
    );
  });
});
