/** How large a suspended run may be: the same, whether it goes into a token or into a store. */
import { describe, expect, test } from "vitest";
import { resolveLimits } from "../contract/limits.ts";
import type { Store } from "../contract/store.ts";
import { createMemoryStore } from "../store/memory.ts";
import { LedgerBook } from "../suspend/ledger-book.ts";
import { giveAway, type RunAtRest } from "../suspend/suspended-run.ts";
import { Vault } from "../suspend/vault.ts";
import { StoredRuns } from "./stored-runs.ts";
import { Suspender } from "./suspender.ts";

const vault = new Vault({ sealKey: new Uint8Array(32).fill(7) });
const rest: RunAtRest = {
  pending: new Map([[0, "?"]]),
  timers: [],
  executing: new Map(),
  resolutions: [],
  snapshot: undefined,
};

/** Compressed and sealed, it would be far below any limit that is tried here. */
function bookOf(suspensionBytes: number, source = "x".repeat(20_000)): LedgerBook {
  const limits = resolveLimits({ suspensionBytes });
  const header = { runId: crypto.randomUUID(), source, seed: "", clock: 0, limits, toolNames: [] };
  const calls = [{ tool: "ask", input: "1" }];
  return new LedgerBook({ ...header, language: "javascript" }, { calls, deliveries: [] });
}

async function bytesOf(book: LedgerBook): Promise<number> {
  const given = await giveAway(book, "", crypto.randomUUID(), rest);
  if ("code" in given) throw new Error(given.message);
  return given.sealable.header.length + given.sealable.content.length;
}

/** The limit is part of the run, so the one that is measured has as many digits. */
const exact = await bytesOf(bookOf(99_999));

describe.each(["token", "store"])("a run that is suspended into a %s", (where) => {
  async function suspend(book: LedgerBook, snapshot?: Uint8Array<ArrayBuffer>): Promise<string> {
    await using store = createMemoryStore();
    const suspender = new Suspender(vault, where === "store" ? store : undefined, 60_000, false);
    const result = await suspender.suspend(book, "", suspender.stored?.keep(book, ""), {
      ...rest,
      snapshot: snapshot && { bytes: snapshot, progress: book.progress },
    });
    return "code" in result ? `${result.code}: ${result.message}` : "suspended";
  }

  test("may have as many bytes as its limit says, before they are compressed", async () => {
    expect(await suspend(bookOf(exact))).toBe("suspended");
    expect(await suspend(bookOf(exact - 1))).toMatch(
      new RegExp(`^suspension_limit: .* takes ${exact} bytes .* at most ${exact - 1} `, "u"),
    );
  });

  test("does without its snapshot where only the ledger fits", async () => {
    expect(await suspend(bookOf(exact), new Uint8Array(1000))).toBe("suspended");
    expect(await suspend(bookOf(exact - 1), new Uint8Array(1000))).toContain(`takes ${exact} bytes`);
  });

  test("is measured by its bytes, not by what its timers count for", async () => {
    const book = bookOf(99_999, "");
    const items = Array.from({ length: 2000 }, () => ({ kind: "timer", timer: 1 }) as const);
    book.addDelivery({ clock: 1, items });
    expect(book.size).toBeGreaterThan(99_999);
    expect(await bytesOf(book)).toBeLessThan(99_999);
    expect(await suspend(book)).toBe("suspended");
  });
});

test("a journal that stays counts whole, over all who took the run up", async () => {
  await using store = createMemoryStore();
  const forms: string[] = [];
  const watched: Store = {
    ...store,
    release: (claim, next) => {
      if (next !== undefined) forms.push("state" in next ? "state" : "entry");
      return store.release(claim, next);
    },
  };
  const book = bookOf(100_000, "");
  const snapshot = { bytes: new Uint8Array(1000), progress: book.progress };
  let journal = new StoredRuns(watched, vault, 60_000).keep(book, "");
  for (let leg = 0; leg < 7; leg++) {
    // Of no weight in the ledger, so that a new state is small again.
    const resolution = { resolution: "x".repeat(30_000) };
    await journal.write({ kind: "dispatch", call: 0, resolution });
    const runs = new StoredRuns(watched, vault, 60_000);
    expect(await runs.suspend(journal, book, "", { ...rest, snapshot })).toHaveProperty("id");
    const taken = await runs.take(
      { id: book.header.runId, suspensionId: undefined },
      "",
      {},
      () => undefined,
    );
    if ("code" in taken) throw new Error(taken.message);
    journal = taken.journal;
  }
  expect(forms).toEqual(["entry", "entry", "entry", "state", "entry", "entry", "entry"]);
});
