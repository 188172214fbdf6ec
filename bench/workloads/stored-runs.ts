/** Runs of Codecell in a store: each has made some calls, and waits for a decision. */

import { randomUUID } from "node:crypto";
import type { ToolSet } from "codecell";
import type { Lease, NewRun, Store } from "codecell/store";
import { toAskingTools, valueOf } from "../contestants/codecell.ts";
import { createAskingProgram, createAskingTools, type AskingProgram, type Past } from "./asking.ts";

const OUTPUT_BYTES = 256;
/** How many runs are brought to their suspension at the same time. */
const LANES = 64;
/** How many changes are given to a store at once; it may commit several of them together. */
const BATCH = 1024;
const LEASE: Lease = { owner: "bench", ms: 60_000 };
const SEAL_KEY = new Uint8Array(32).fill(7);

export interface SuspendedRun {
  readonly id: string;
  readonly program: AskingProgram;
  readonly callIds: readonly string[];
}

export interface StoredRunsBench extends AsyncDisposable {
  suspendMany(count: number): Promise<SuspendedRun[]>;
  /** Resumes a run by its id and gives its value. */
  resume(run: SuspendedRun): Promise<unknown>;
}

interface Made {
  readonly runs: readonly SuspendedRun[];
  readonly states: readonly NewRun[];
}

/** A host on a store. The library is imported here, since other workloads measure how long that takes. */
export async function openStoredRuns(
  store: Store,
  calls: number,
  bytes = OUTPUT_BYTES,
): Promise<StoredRunsBench> {
  const { createHost } = await import("codecell");
  const host = createHost({ store, sealKey: SEAL_KEY });
  const past: Past = { calls, bytes, keeps: bytes > OUTPUT_BYTES ? "dropped" : "kept" };
  const tools: ToolSet = toAskingTools(createAskingTools(past));

  async function suspendOne(): Promise<SuspendedRun> {
    const program = createAskingProgram(past);
    const ended = await host.start({ source: program.source, tools }).result;
    if (ended.status !== "suspended") throw new Error(`Run is ${ended.status}`);
    return { id: ended.runId, program, callIds: ended.suspension.pending.map(({ callId }) => callId) };
  }

  return {
    suspendMany: async (count) => {
      const runs: SuspendedRun[] = [];
      let begun = 0;
      const lane = async (): Promise<void> => {
        while (begun++ < count) runs.push(await suspendOne());
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      return runs;
    },
    resume: async ({ id, program, callIds }) => {
      const resolutions = Object.fromEntries(
        callIds.map((callId) => [callId, { resolution: program.answer }]),
      );
      return valueOf(await host.resume({ id, resolutions, tools }).result);
    },
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

export async function openSqlite(path: string): Promise<Store> {
  const { openSqliteStore } = await import("codecell/store/sqlite");
  return openSqliteStore({ path });
}

/** Makes real runs with their states, in memory: a file would be written many times for each run. */
export async function makeRuns(count: number, calls: number): Promise<Made> {
  const { createMemoryStore } = await import("codecell/store");
  await using store = createMemoryStore();
  await using stored = await openStoredRuns(store, calls);
  const runs: SuspendedRun[] = [];
  const states: NewRun[] = [];
  while (runs.length < count) {
    for (const made of await stored.suspendMany(count - runs.length))
      await addAtRest(store, made, { runs, states });
  }
  return { runs, states };
}

/**
 * Adds a run if it is of the usual kind. On a busy machine some runs take so long that they are suspended by an entry
 * of their journal; those are left out.
 */
async function addAtRest(
  store: Store,
  made: SuspendedRun,
  { runs, states }: { readonly runs: SuspendedRun[]; readonly states: NewRun[] },
): Promise<void> {
  const { id } = made;
  const claimed = await store.claim(id, LEASE);
  if (claimed.status !== "claimed") throw new Error(`Cannot take run "${id}": it is ${claimed.status}`);
  const { journal, outcomes, ...run } = claimed.run;
  if (journal.length + outcomes.size > 0) return;
  runs.push(made);
  states.push(run);
}

/** Puts waiting runs into a store: these, then copies of their bytes under other ids, which cannot be resumed. */
export async function putAtRest(
  store: Store,
  states: readonly NewRun[],
  count = states.length,
): Promise<void> {
  const put = async (run: NewRun): Promise<void> => store.release(await store.put(run, LEASE));
  for (let from = 0; from < count; from += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, count - from) }, (_, place): NewRun | undefined => {
      const index = from + place;
      const state = states[index % states.length];
      return state === undefined || index < states.length ? state : { ...state, id: randomUUID() };
    });
    await Promise.all(batch.flatMap((run) => (run === undefined ? [] : [put(run)])));
  }
}
