/** A rebuilt program has to agree with its ledger before any call is executed for it. */
import { createHost, type Host, type Ledger, type ToolSet } from "codecell";
import { createMemoryStore, type Store } from "codecell/store";
import { describe, expect, test } from "vitest";
import { foldJournal } from "../../packages/codecell/src/durable/fold-journal.ts";
import { StoredBytes } from "../../packages/codecell/src/durable/stored-bytes.ts";
import { type SuspendedRun, toSealable } from "../../packages/codecell/src/durable/suspended-run.ts";
import { Tokens } from "../../packages/codecell/src/durable/token.ts";
import { Vault } from "../../packages/codecell/src/seal/vault.ts";

const sealKey = new Uint8Array(32).fill(13);
const vault = new Vault({ sealKey });

const source = `
  await tools.quick({ n: 1 });
  return await Promise.all([tools.ask(1), tools.ask(2), tools.quick({ n: 2 })]);`;

function desk(): { readonly tools: ToolSet; readonly made: string[] } {
  const made: string[] = [];
  return {
    made,
    tools: {
      quick: { execute: () => made.push("quick") },
      ask: {
        execute: (_input, call) => {
          if (call.resolution === undefined) call.suspend("?");
          made.push("ask");
          return call.resolution;
        },
      },
    },
  };
}

type Alter = (ledger: Ledger) => Ledger;

/** As a version in which programs run otherwise might seal it. Without a snapshot: from that nothing is repeated. */
function altered({ snapshot: _unused, ...run }: SuspendedRun, alter: Alter): SuspendedRun {
  return { ...run, id: crypto.randomUUID(), ledger: alter(run.ledger) };
}

function alterToken(token: string, alter: Alter): string {
  const opened = new Tokens(vault).open(token, "");
  const run = "code" in opened ? opened : opened.take((held) => held);
  if ("code" in run) throw new Error(run.message);
  return vault.sealer.sealText(toSealable(altered(run, alter)), "token");
}

async function alterStored(store: Store, id: string, alter: Alter): Promise<void> {
  const claimed = await store.claim(id, { owner: "somebody", ms: 60_000 });
  if (claimed.status !== "claimed") throw new Error(claimed.status);
  const bytes = new StoredBytes(vault);
  const opened = await bytes.open(claimed.run);
  // One that took longer was suspended by an entry of its journal.
  const folded = "code" in opened ? undefined : foldJournal(opened.state, opened.entries);
  if (folded === undefined) throw new Error("The run could not be read");
  const run = altered(folded.state, alter);
  const state = await bytes.sealState(id, toSealable(run));
  await store.release(claimed.claim, { state, expiresAt: run.expiresAt, absorbed: [] });
}

const ALTERATIONS: readonly (readonly [string, Alter])[] = [
  ["another input", (ledger) => withCall(ledger, 0, { input: '{"n":7}' })],
  ["another tool", (ledger) => withCall(ledger, 3, { tool: "ask" })],
  ["a call less", (ledger) => ({ ...ledger, source: ledger.source.replace(/, tools.quick.*\]/u, "]") })],
  ["no call at all", (ledger) => ({ ...ledger, source: "return 1" })],
];

function withCall(ledger: Ledger, at: number, change: Partial<Ledger["calls"][number]>): Ledger {
  return { ...ledger, calls: ledger.calls.map((one, index) => (index === at ? { ...one, ...change } : one)) };
}

describe.each(["a token", "a store"])("a run that comes back from %s", (where) => {
  const open = (store: Store): Host =>
    createHost({ workers: 1, sealKey, ...(where === "a store" ? { store } : {}) });

  /** Suspends the run on one host, and resumes what is made of it on another. */
  async function resumed(
    alter: Alter,
  ): Promise<{ readonly result: unknown; readonly made: readonly string[]; readonly left: number }> {
    await using store = createMemoryStore();
    await using first = open(store);
    const before = desk();
    const { runId, ...suspended } = await first.start({ source, tools: before.tools }).result;
    if (suspended.status !== "suspended") throw new Error(suspended.status);
    expect(before.made).toEqual(["quick", "quick"]);
    await using second = open(store);
    const { tools, made } = desk();
    const resolutions = { [`${runId}:1`]: { resolution: "yes" }, [`${runId}:2`]: { resolution: "no" } };
    if (where === "a store") await alterStored(store, runId, alter);
    const which =
      where === "a store" ? { id: runId } : { token: alterToken(suspended.suspension.token, alter) };
    const result = await second.resume({ ...which, resolutions, tools }).result;
    return { result, made, left: (await store.list({ claimable: true })).length };
  }

  test("makes its open calls once it has repeated its past [ledger:divergence]", async () => {
    const { result, made } = await resumed((ledger) => ledger);
    expect(result).toMatchObject({ status: "completed", value: ["yes", "no", 2] });
    expect(made).toEqual(["ask", "ask"]);
  });

  test.each(ALTERATIONS)(
    "makes none of them when it did something else: %s [ledger:divergence]",
    async (_name, alter) => {
      const { result, made, left } = await resumed(alter);
      expect(result).toMatchObject({ status: "failed", failure: { code: "replay_diverged" } });
      expect(made).toEqual([]);
      // Another version may agree with it.
      expect(left).toBe(where === "a store" ? 1 : 0);
    },
  );
});
