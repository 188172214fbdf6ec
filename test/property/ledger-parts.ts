/**
 * Parts of ledgers for property tests, as fast-check arbitraries: valid ones, and ones that somebody else might have
 * written.
 *
 * `spoil` decides what is at each place: a valid value, or now and then any JSON.
 */
import fc from "fast-check";
import type { CallResolution, Delivery, Json, LedgerCall } from "codecell";
import type { Progress } from "../../packages/codecell/src/contract/ledger.ts";
import type { CallOutcome } from "../../packages/codecell/src/contract/ledger.ts";
import type { JournalEntry } from "../../packages/codecell/src/durable/journal-entry.ts";
import type { Seen } from "../../packages/codecell/src/ledger/ledger-recorder.ts";

type Spoil = <T>(arbitrary: fc.Arbitrary<T>) => fc.Arbitrary<T>;

/** JSON as it is after printing: -0 becomes 0. */
export const json: fc.Arbitrary<Json> = fc
  .json({ stringUnit: "binary" })
  .map((text) => JSON.parse(text) as Json);

const asIs: Spoil = (arbitrary) => arbitrary;

/** Its values need not have the types that they declare. */
const nowAndThen: Spoil = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 30, arbitrary },
    { weight: 1, arbitrary: json as fc.Arbitrary<never> },
    { weight: 1, arbitrary: fc.constantFrom(-1, 0.5, 2 ** 53, null, "", {}, []) as fc.Arbitrary<never> },
    { weight: 1, arbitrary: fc.constant(undefined as never) },
  );

export interface LedgerParts {
  readonly call: fc.Arbitrary<LedgerCall>;
  readonly delivery: fc.Arbitrary<Delivery>;
  readonly timer: fc.Arbitrary<{ readonly timer: number; readonly delayMs: number | null }>;
  readonly resolution: fc.Arbitrary<CallResolution>;
  readonly seen: fc.Arbitrary<Seen>;
  readonly progress: fc.Arbitrary<Progress>;
  readonly entry: fc.Arbitrary<JournalEntry>;
  readonly outcome: fc.Arbitrary<CallOutcome>;
}

function partsOf(spoil: Spoil): LedgerParts {
  const text = spoil(fc.string({ unit: "binary" }));
  const count = spoil(fc.oneof(fc.nat(4), fc.maxSafeNat()));
  const clock = spoil(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map((ms) => ms + 0));
  const list = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
    spoil(fc.array(spoil(item), { maxLength: 4 }));
  const kind = <K extends string>(name: K): fc.Arbitrary<K> => spoil(fc.constant(name));
  const call = fc.record({ tool: text, input: text });
  const timer = fc.record({ timer: count, delayMs: fc.option(count) });
  const seen = fc.record({ timers: count, logs: count, logsDropped: count, cpuTimeMs: clock });
  const failure = fc.record(
    { code: spoil(fc.constantFrom("tool_failed", "denied")), name: text, message: text, toolCode: text },
    { requiredKeys: ["code", "name", "message"] },
  );
  const output = fc.record({ kind: kind("output"), call: count, output: text });
  const failed = fc.record({ kind: kind("failure"), call: count, failure: spoil(failure) });
  const asked = fc.record({ kind: kind("asked"), call: count, payload: spoil(json) });
  const fired = fc.record({ kind: kind("timer"), timer: count });
  const delivery = fc.record({ clock, items: list(fc.oneof(output, failed, fired)) });
  const resolution: fc.Arbitrary<CallResolution> = fc.oneof(
    fc.record({ resolution: spoil(json) }),
    fc.record({ deny: text }),
  );
  const entry: fc.Arbitrary<JournalEntry> = fc.oneof(
    fc.record({
      kind: kind("report"),
      at: count,
      calls: list(call),
      timers: list(timer),
      seen: spoil(seen),
    }),
    fc.record(
      { kind: kind("dispatch"), call: count, resolution: spoil(resolution) },
      { requiredKeys: ["kind", "call"] },
    ),
    asked,
    fc.record({ kind: kind("delivery"), delivery: spoil(delivery) }),
    fc.record({ kind: kind("taken"), at: count }),
    fc.record({ kind: kind("suspended"), waitState: spoil(json) }),
  );
  const progress = fc.record({ deliveries: count, calls: count, timers: count, logs: count });
  const outcome = fc.oneof(output, failed, asked);
  return { call, delivery, timer, resolution, seen, progress, entry, outcome };
}

export const written: LedgerParts = partsOf(asIs);
export const spoilt: LedgerParts = partsOf(nowAndThen);
