import { expect, test } from "vitest";
import { resolveLimits } from "../contract/limits.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { createMemoryStore } from "../store/memory.ts";
import { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { Vault } from "../seal/vault.ts";
import { EventStream } from "./event-stream.ts";
import { newPast } from "../durable/run-past.ts";
import { RunErrors } from "./run-errors.ts";
import { Run } from "./run.ts";
import { StoredRuns } from "../durable/stored-runs.ts";

/** A sandbox in which no cell ever gets its turn. */
const crowded: Sandbox = {
  place: () => ({
    isWaiting: () => true,
    fullBytes: () => undefined,
    deliver: () => {},
    drop: () => {},
    snapshot: () => Promise.resolve(undefined),
  }),
  judgeFor: () => () => Promise.resolve({ kind: "unknown" }),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

test("a run whose time is up before it got its turn says so, and stays in its store [store:leave] [host:fair]", async () => {
  await using store = createMemoryStore();
  const recorder = new LedgerRecorder({
    runId: "r",
    source: "return 1",
    language: "javascript",
    seed: "00".repeat(32),
    clock: 0,
    limits: resolveLimits({ wallTimeMs: 10 }),
    toolNames: [],
    features: {},
  });
  const errors = new RunErrors("r", undefined);
  const runs = new StoredRuns(store, new Vault({ sealKey: new Uint8Array(32).fill(1) }), 60_000);
  const run = new Run({
    sandbox: crowded,
    compression: undefined,
    tools: {},
    signal: undefined,
    context: undefined,
    middleware: [],
    authorize: undefined,
    mapCallFailure: undefined,
    hostTools: {},
    past: newPast(recorder),
    keeping: runs.keep(recorder, { scope: "", token: {}, errors }),
    check: undefined,
    events: new EventStream(),
    errors,
    suspendsAtDeadline: false,
  });
  run.start(undefined);
  const message = expect.stringMatching(/^The run took longer than 10 ms, and was waiting for a thread/);
  expect(await run.result).toMatchObject({ failure: { code: "timeout", message } });
  expect(await store.list({ claimable: true })).toMatchObject([{ id: "r" }]);
});
