import { expect, test } from "vitest";
import type { Claim, Store } from "../contract/store.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { Vault } from "../seal/vault.ts";
import { Journal } from "./journal.ts";
import { JournalBytes } from "./stored-bytes.ts";

const ENTRY: JournalEntry = { kind: "taken", at: 1 };
const CLAIM: Claim = { id: "r", fence: 1 };

/** A store that records what it did. Each append waits for its gate. */
function gated() {
  const did: string[] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const store = {
    append: async () => {
      const gate = Promise.withResolvers<void>();
      const number = gates.push(gate);
      begun[number - 1]?.resolve();
      await gate.promise;
      did.push(`append ${number}`);
    },
    renew: async (_claim: Claim, _ms: number, expiresAt?: number) => void did.push(`renew ${expiresAt}`),
    release: async () => void did.push("release"),
  } as unknown as Store;
  return { did, gates, begun, store };
}

function open(store: Store): Journal {
  return new Journal({
    store,
    claim: Promise.resolve(CLAIM),
    leaseMs: 60_000,
    length: 0,
    size: 0,
    mayStay: true,
    posted: new Set(),
    bytes: new JournalBytes(new Vault({ sealKey: new Uint8Array(32).fill(1) }), "r", "e"),
    facts: { calls: 0, failed: 0, pending: 0 },
  });
}

test("an expiry is moved after its own entry, not after an entry that was under way", async () => {
  const { did, gates, begun, store } = gated();
  const journal = open(store);
  const first = journal.write(ENTRY);
  await begun[0].promise;
  const second = journal.write(ENTRY, 5000);
  gates[0]?.resolve();
  await first;
  await begun[1].promise;
  expect(did).toEqual(["append 1"]);
  gates[1]?.resolve();
  await second;
  await journal.release();
  expect(did.filter((what) => what !== "release")).toEqual(["append 1", "append 2", "renew 5000"]);
});

test("an expiry is moved once, with the write that it joined", async () => {
  const { did, gates, begun, store } = gated();
  const journal = open(store);
  const writes = [journal.write(ENTRY), journal.write(ENTRY, 5000)];
  await begun[0].promise;
  gates[0]?.resolve();
  await Promise.all(writes);
  const last = journal.write(ENTRY);
  await begun[1].promise;
  gates[1]?.resolve();
  await last;
  await journal.release();
  expect(did.filter((what) => what !== "release")).toEqual(["append 1", "renew 5000", "append 2"]);
});
