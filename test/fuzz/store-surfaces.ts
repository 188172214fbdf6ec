/** Surfaces of stores: what a host does with runs in its store whose inputs, outcomes and timers a program chose. */
import { printRun } from "../../packages/codecell/src/durable/print-run.ts";
import { StoredBytes } from "../../packages/codecell/src/durable/stored-bytes.ts";
import { StoredRuns } from "../../packages/codecell/src/durable/stored-runs.ts";
import { LedgerRecorder } from "../../packages/codecell/src/ledger/ledger-recorder.ts";
import { createMemoryStore } from "../../packages/codecell/src/store/memory.ts";
import { openSqliteStore } from "../../packages/codecell/src/store/sqlite.ts";
import { takeRun, TERMS } from "../taken-run.ts";
import { WAITING } from "./interrupt-surfaces.ts";
import { noise } from "./nasty-texts.ts";
import {
  recorderOf,
  INPUT,
  LIMITS,
  OUTPUT,
  parsed,
  REST,
  type Surface,
  VALUE_BYTES,
  vault,
} from "./surface-parts.ts";

const stored = new StoredBytes(vault);
/** Calls that execute at the same time. */
const EXECUTING = LIMITS.callsInFlight - 1;

export const STORE_SURFACES: readonly Surface[] = [
  {
    name: "store: open a run",
    given: "json",
    most: INPUT,
    own: 8 * INPUT + (WAITING + 2) * VALUE_BYTES,
    prepare: async (json) => {
      const recorder = recorderOf(json);
      const question = { kind: "asked", call: WAITING + 1, payload: parsed(json) } as const;
      const outcomes = new Map([[question.call, await stored.sealOutcome("r", question)]]);
      const pending = new Map(
        Array.from({ length: WAITING }, (_, at) => [at + 1, { payload: parsed(json) }]),
      );
      const entries = [{ kind: "dispatch", call: 0, resolution: { resolution: parsed(json) } }] as const;
      return async () => {
        const printed = await printRun(recorder, "", "e", { ...REST, pending });
        if ("code" in printed) throw new Error(printed.message);
        const { id, expiresAt } = printed;
        const state = await stored.sealState("r", printed);
        const { bytes } = await stored.following("r", id).sealEntries(0, entries);
        const journal = Array.from({ length: 1 }, () => bytes);
        return stored.open({ id: "r", scope: "", expiresAt, state, journal, outcomes });
      };
    },
  },
  {
    name: "store: keep a fork",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const recorder = recorderOf(json);
      const store = createMemoryStore();
      const runs = new StoredRuns(store, vault, 30_000);
      return async () => {
        await runs.keep(recorder, TERMS).journal.delete();
        await store[Symbol.asyncDispose]();
      };
    },
  },
  {
    name: "store: two calls ask after their run was suspended",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const payload = parsed(json);
      const asked = [0, 1].map((call) => ({ kind: "asked", call, payload }) as const);
      return () => Promise.all(asked.map((question) => stored.sealOutcome("r", question)));
    },
  },
  {
    name: "store: wait for calls that were left to an executor",
    given: "text",
    most: OUTPUT,
    own: EXECUTING * OUTPUT,
    prepare: async ({ length }) => {
      const store = await openSqliteStore({ path: ":memory:" });
      const runs = new StoredRuns(store, vault, 30_000);
      const calls = Array.from({ length: EXECUTING }, () => ({ tool: "t", input: "null" }));
      const recorder = new LedgerRecorder(recorderOf("null").header, { calls, deliveries: [] });
      const executing = new Map(calls.map((_, call) => [call, undefined]));
      const suspended = await runs.keep(recorder, TERMS).suspend({ ...REST, executing });
      if ("code" in suspended) throw new Error(suspended.message);
      const { past, keeping } = await takeRun(runs, "r");
      // A program can choose texts that do not compress.
      const outcomes = calls.map(
        (_, call) => ({ kind: "output", call, output: noise(call, length) }) as const,
      );
      const sealed = await Promise.all(outcomes.map((outcome) => stored.sealOutcome("r", outcome)));
      return async () => {
        const awaited = [...past.elsewhere].map(([call, { executor }]) =>
          keeping.awaitOutcome(call, executor, () => false),
        );
        for (const [call, bytes] of sealed.entries()) {
          await store.post("r", call, bytes);
          await awaited[call];
        }
        await store[Symbol.asyncDispose]();
        return awaited;
      };
    },
  },
];
