/**
 * A property test of stores: for any sequence of requests, a store answers as this small model does.
 *
 * - Leases are over at once or last for ever, and so do runs: the model needs no clock.
 * - Claims are used long after they were given, so most are stale.
 */
import {
  type Arbitrary,
  array,
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  integer,
  nat,
  oneof,
  record,
} from "fast-check";
import { expect, test } from "vitest";
import { type Claim, type Store, StoreError } from "../contract/store.ts";
import { bytes, FUTURE, newRun } from "./store-cases.ts";

const IDS = ["a", "b'", "ü"];
const SCOPES = ["one", "two"];

interface ModelRun {
  scope: string;
  expired: boolean;
  held: boolean;
  /** The claim in force, as an index into all claims; undefined when the run is released. */
  claim: number | undefined;
  state: number;
  journal: number[];
  snapshot: number | undefined;
  readonly outcomes: Map<number, number>;
}

interface World {
  readonly runs: Map<string, ModelRun>;
  /** The ended runs that are kept. */
  readonly ended: Map<string, { readonly scope: string; readonly expired: boolean; readonly state: number }>;
  readonly claims: Claim[];
  /** The number of the last thing written; everything that is written has its own. */
  written: number;
}

type StoreStep = (store: Store, world: World) => Promise<void>;

const id = constantFrom(...IDS);
/** How many claims to go back; recent claims are more likely. */
const back = oneof(nat(2), nat(9));
const call = nat(2);
const flags = {
  held: boolean(),
  expired: oneof({ arbitrary: boolean(), weight: 1 }, { arbitrary: constantFrom(false), weight: 3 }),
};

const put = record({ id, scope: constantFrom(...SCOPES), ...flags }).map(
  ({ id: key, scope, held, expired }): StoreStep =>
    async (store, world) => {
      const state = ++world.written;
      const expiresAt = expired ? 1 : FUTURE;
      const answer = await codeOr(
        store.put(newRun(key, { scope, expiresAt, state: bytes(state) }), lease(held)),
      );
      if (world.runs.has(key)) return expect(answer).toBe("exists");
      const claim = world.claims.push(answer as Claim) - 1;
      const contents = { journal: [], snapshot: undefined, outcomes: new Map<number, number>() };
      world.runs.set(key, { scope, expired, held, claim, state, ...contents });
    },
);

const claiming = record({
  id,
  held: boolean(),
  scope: constantFrom(undefined, undefined, ...SCOPES),
}).map(({ id: key, held, scope }): StoreStep => async (store, world) => {
  const found = world.runs.get(key);
  const run = scope === undefined || found?.scope === scope ? found : undefined;
  const answer = await store.claim(key, lease(held), scope);
  if (run?.held === true) return expect(answer.status).toBe("held");
  if (run === undefined || run.expired) return expect(answer).toEqual({ status: "absent" });
  if (answer.status !== "claimed") throw new Error(`Run "${key}" is ${answer.status}`);
  expect(answer.run).toEqual({
    id: key,
    scope: run.scope,
    expiresAt: FUTURE,
    state: bytes(run.state),
    journal: run.journal.map((one) => bytes(one)),
    ...(run.snapshot === undefined ? {} : { snapshot: bytes(run.snapshot) }),
    outcomes: toBytes(run.outcomes),
  });
  const fences = world.claims.filter((one) => one.id === key).map(({ fence }) => fence);
  expect(answer.claim.fence).toBeGreaterThan(Math.max(0, ...fences));
  Object.assign(run, { held, claim: world.claims.push(answer.claim) - 1 });
});

const posting = record({ id, call }).map(({ id: key, call: index }): StoreStep => async (store, world) => {
  const outcomes = world.runs.get(key)?.outcomes;
  const value = ++world.written;
  const first = outcomes !== undefined && !outcomes.has(index);
  expect(await store.post(key, index, bytes(value))).toBe(first);
  if (first) outcomes.set(index, value);
  expect(await store.outcomes(key)).toEqual(outcomes && toBytes(outcomes));
});

const appending = fenced(nat(3), async (store, world, claim, run, count) => {
  const entries = Array.from({ length: count }, () => ++world.written);
  await store.append(
    claim,
    entries.map((one) => bytes(one)),
  );
  run?.journal.push(...entries);
});

const saving = fenced(constantFrom(undefined), async (store, world, claim, run) => {
  const snapshot = ++world.written;
  await store.saveSnapshot(claim, bytes(snapshot));
  if (run !== undefined) run.snapshot = snapshot;
  expect(await store.loadSnapshot(claim)).toEqual(bytes(snapshot));
});

const renewing = fenced(
  record({ held: boolean(), expired: oneof(constantFrom(undefined), flags.expired) }),
  async (store, _world, claim, run, { held, expired }) => {
    const expiresAt = expired === undefined ? undefined : expired ? 1 : FUTURE;
    await store.renew(claim, lease(held).ms, expiresAt);
    if (run !== undefined) Object.assign(run, { held, expired: expired ?? run.expired });
  },
);

const releasing = fenced(
  oneof(
    constantFrom(undefined),
    record({ expired: flags.expired, absorbed: array(call, { maxLength: 3 }), isNew: boolean() }),
  ),
  async (store, world, claim, run, next) => {
    const written = ++world.written;
    const expiresAt = next?.expired === true ? 1 : FUTURE;
    const given = { expiresAt, absorbed: next?.absorbed ?? [] };
    if (next === undefined) await store.release(claim);
    else if (next.isNew) await store.release(claim, { state: bytes(written), ...given });
    else await store.release(claim, { entry: bytes(written), snapshot: bytes(written), ...given });
    if (run === undefined) return;
    Object.assign(run, { held: false, claim: undefined });
    if (next === undefined) return;
    run.expired = next.expired;
    if (next.isNew) Object.assign(run, { state: written, journal: [], snapshot: undefined });
    else Object.assign(run, { journal: [...run.journal, written], snapshot: written });
    for (const one of next.absorbed) run.outcomes.delete(one);
  },
);

const deleting = fenced(constantFrom(undefined), async (store, world, claim) => {
  await store.delete(claim);
  world.runs.delete(claim.id);
});

const ending = fenced(flags.expired, async (store, world, claim, run, expired) => {
  const state = ++world.written;
  const expiresAt = expired ? 1 : FUTURE;
  await store.release(claim, { ended: "completed", state: bytes(state), expiresAt });
  world.runs.delete(claim.id);
  world.ended.set(claim.id, { scope: run?.scope ?? "", expired, state });
});

const reading = record({ id, scope: constantFrom(undefined, ...SCOPES) }).map(
  ({ id: key, scope }): StoreStep =>
    async (store, world) => {
      const found = world.ended.get(key);
      const isThere = found?.expired === false && (scope === undefined || scope === found.scope);
      const answer = await store.readEnded(key, scope);
      expect(answer?.state).toEqual(isThere ? bytes(found.state) : undefined);
    },
);

const expiring = constantFrom<StoreStep>(async (store, world) => {
  const gone = [...world.runs].filter(([, { expired, held }]) => expired && !held);
  for (const [key] of gone) world.runs.delete(key);
  const over = [...world.ended].filter(([, { expired }]) => expired);
  for (const [key] of over) world.ended.delete(key);
  expect(await store.expire()).toBe(gone.length + over.length);
});

const listing = record({
  scope: constantFrom(undefined, ...SCOPES),
  claimable: boolean(),
  after: constantFrom("", ...IDS),
  limit: integer({ min: 1, max: 3 }),
}).map(({ scope, claimable, after, limit }): StoreStep => async (store, world) => {
  const expected = [...world.runs]
    .filter(([key, run]) => key > after && (scope === undefined || run.scope === scope))
    .filter(([, { held, expired }]) => (held ? !claimable : !expired))
    .map(([key]) => key)
    .sort()
    .slice(0, limit);
  const asked = { claimable, after, limit, ...(scope === undefined ? {} : { scope }) };
  const listed = await store.list(asked);
  expect(listed.map((one) => one.id)).toEqual(expected);
  const over = [...world.ended]
    .filter(([key, run]) => key > after && (scope === undefined || run.scope === scope) && !run.expired)
    .map(([key]) => key)
    .sort()
    .slice(0, limit);
  const ended = await store.list({ ...asked, status: "completed" });
  expect(ended.map((one) => one.id)).toEqual(claimable ? [] : over);
});

const steps = array(
  oneof(
    { arbitrary: oneof(put, claiming, appending, releasing), weight: 3 },
    { arbitrary: oneof(posting, saving, renewing, deleting, expiring, listing, ending, reading), weight: 2 },
  ),
  { maxLength: 40 },
);

export function testModel(open: () => Promise<Store>): void {
  test("answers as the model does, whatever the requests", async () => {
    // One store serves all sequences and is emptied in between.
    await using store = await open();
    await assert(
      asyncProperty(steps, async (sequence) => {
        const world: World = { runs: new Map(), ended: new Map(), claims: [], written: 0 };
        try {
          for (const step of sequence) await step(store, world);
        } finally {
          await empty(store, world);
        }
      }),
      { numRuns: 60 },
    );
  }, 120_000);
}

/** A step under one of the claims given so far. The store has to refuse it unless that claim is in force. */
function fenced<T>(
  arbitrary: Arbitrary<T>,
  act: (store: Store, world: World, claim: Claim, run: ModelRun | undefined, given: T) => Promise<void>,
): Arbitrary<StoreStep> {
  return record({ back, given: arbitrary }).map(({ back: ago, given }) => async (store, world) => {
    const index = world.claims.length - 1 - ago;
    const claim = world.claims[index];
    if (claim === undefined) return;
    const run = world.runs.get(claim.id);
    const own = run?.claim === index ? run : undefined;
    const code = await codeOr(act(store, world, claim, own, given));
    expect(code).toBe(own === undefined ? "stale_claim" : undefined);
  });
}

async function empty(store: Store, { runs, claims }: World): Promise<void> {
  for (const [key, { claim }] of runs) {
    const own = claim === undefined ? undefined : claims[claim];
    if (own !== undefined) await store.release(own, { state: bytes(), expiresAt: 1, absorbed: [] });
    else {
      const again = await store.claim(key, lease(true));
      if (again.status === "claimed") await store.delete(again.claim);
    }
  }
  await store.expire({ runs: 0, bytes: 0 });
  const status = ["running", "suspended", "completed", "failed"] as const;
  if ((await store.list({ status })).length > 0) throw new Error("Runs are left");
}

function lease(held: boolean): { owner: string; ms: number } {
  return { owner: "owner", ms: held ? 600_000 : 0 };
}

function toBytes(outcomes: ReadonlyMap<number, number>): Map<number, Uint8Array> {
  return new Map([...outcomes].map(([key, value]) => [key, bytes(value)]));
}

async function codeOr<T>(promise: Promise<T>): Promise<T | string> {
  try {
    return await promise;
  } catch (error) {
    if (StoreError.is(error)) return error.code;
    throw error;
  }
}
