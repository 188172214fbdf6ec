import { expect, test } from "vitest";
import type { Store } from "../contract/store.ts";
import { testStore } from "../testing/store-suite.ts";
import { createMemoryStore } from "./memory.ts";

const stores = new Map<string, Store>();

testStore(
  "memory",
  async (place) => {
    const store = stores.get(place) ?? createMemoryStore();
    stores.set(place, store);
    return store;
  },
  [
    { test: "outlives its handles", reason: "the memory is the handle's" },
    { test: "handles close apart", reason: "there is one handle" },
  ],
);

test("one append may add more entries than a function call can have arguments", async () => {
  await using store = createMemoryStore();
  const run = { id: "a", scope: "", expiresAt: 8e12, state: new Uint8Array() };
  const claim = await store.put(run, { owner: "", ms: 0 });
  await store.append(
    claim,
    Array.from({ length: 300_000 }, () => new Uint8Array()),
  );
  const again = await store.claim("a", { owner: "", ms: 0 });
  expect(again.status === "claimed" && again.run.journal.length).toBe(300_000);
});
