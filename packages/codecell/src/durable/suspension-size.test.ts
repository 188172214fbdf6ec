/** Tests of how large a suspended run may be: the same in a token and in a store. */
import { describe, expect, test } from "vitest";
import { resolveLimits } from "../contract/limits.ts";
import type { Store } from "../contract/store.ts";
import { createMemoryStore } from "../store/memory.ts";
import { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { printRun } from "./print-run.ts";
import type { RunAtRest } from "./suspended-run.ts";
import type { RunKeeping } from "./run-keeping.ts";
import { Vault } from "../seal/vault.ts";
import { takeRun, TERMS } from "../../../../test/taken-run.ts";
import { StoredRuns } from "./stored-runs.ts";
import { Suspender } from "./suspender.ts";

const vault = new Vault({ sealKey: new Uint8Array(32).fill(7) });
const rest: RunAtRest = {
  pending: new Map([[0, { payload: "?" }]]),
  timers: [],
  executing: new Map(),
  abort: new AbortController(),
  resolutions: [],
  snapshot: undefined,
};

/** Compressed and sealed, the run would be far below any limit that is tried here. */
function recorderOf(suspensionBytes: number, source = "x".repeat(20_000)): LedgerRecorder {
  const limits = resolveLimits({ suspensionBytes });
  const header = {
    runId: crypto.randomUUID(),
    source,
    seed: "",
    clock: 0,
    limits,
    toolNames: [],
    features: {},
  };
  const calls = [{ tool: "ask", input: "1" }];
  return new LedgerRecorder({ ...header, language: "javascript" }, { calls, deliveries: [] });
}

async function bytesOf(recorder: LedgerRecorder): Promise<number> {
  const printed = await printRun(recorder, "", crypto.randomUUID(), rest);
  if ("code" in printed) throw new Error(printed.message);
  return printed.header.length + printed.content.length;
}

/** The limit is part of the run, so the measured run needs a limit with as many digits. */
const exact = await bytesOf(recorderOf(99_999));

describe.each(["token", "store"])("a run that is suspended into a %s", (where) => {
  async function suspend(recorder: LedgerRecorder, snapshot?: Uint8Array<ArrayBuffer>): Promise<string> {
    await using store = createMemoryStore();
    const suspender = new Suspender(vault, where === "store" ? store : undefined, 60_000);
    const result = await suspender.keep(recorder, TERMS).suspend({
      ...rest,
      snapshot: snapshot && { bytes: snapshot, progress: recorder.progress },
    });
    return "code" in result ? `${result.code}: ${result.message}` : "suspended";
  }

  test("may have as many bytes as its limit says, before they are compressed", async () => {
    expect(await suspend(recorderOf(exact))).toBe("suspended");
    expect(await suspend(recorderOf(exact - 1))).toMatch(
      new RegExp(`^suspension_limit: .* takes ${exact} bytes .* at most ${exact - 1} `, "u"),
    );
  });

  test("leaves its snapshot out if only the ledger fits", async () => {
    expect(await suspend(recorderOf(exact), new Uint8Array(1000))).toBe("suspended");
    expect(await suspend(recorderOf(exact - 1), new Uint8Array(1000))).toContain(`takes ${exact} bytes`);
  });

  test("is measured by its bytes, not by the size that its timers count for", async () => {
    const recorder = recorderOf(99_999, "");
    const items = Array.from({ length: 2000 }, () => ({ kind: "timer", timer: 1 }) as const);
    recorder.addDelivery({ clock: 1, items });
    expect(recorder.size).toBeGreaterThan(99_999);
    expect(await bytesOf(recorder)).toBeLessThan(99_999);
    expect(await suspend(recorder)).toBe("suspended");
  });
});

test("a journal that stays counts as a whole, over all processes that took the run up", async () => {
  await using store = createMemoryStore();
  const forms: string[] = [];
  const watched: Store = {
    ...store,
    release: (claim, next) => {
      if (next !== undefined) forms.push("state" in next ? "state" : "entry");
      return store.release(claim, next);
    },
  };
  const recorder = recorderOf(100_000, "");
  const snapshot = { bytes: new Uint8Array(1000), progress: recorder.progress };
  let keeping: RunKeeping = new StoredRuns(watched, vault, 60_000).keep(recorder, TERMS);
  for (let exchange = 0; exchange < 7; exchange++) {
    // The ledger does not hold this, so a new state is small again.
    const resolution = { resolution: "x".repeat(30_000) };
    await keeping.journal?.write({ kind: "dispatch", call: 0, resolution });
    expect(await keeping.suspend({ ...rest, snapshot })).toHaveProperty("token");
    const runs = new StoredRuns(watched, vault, 60_000);
    ({ keeping } = await takeRun(runs, recorder.header.runId));
  }
  expect(forms).toEqual(["entry", "entry", "entry", "state", "entry", "entry", "entry"]);
});
