/**
 * Runs in tests. What every store has to do: the sentences of the Store contract, as tests.
 *
 * - No test waits for a lease or an expiry: leases of 0 ms are over at once, and a run may be put with an expiry in the past.
 * - Several handles of one place stand for several processes. Names of places are plain words.
 */
import { describe } from "vitest";
import { newPlace, type OpenStore } from "./store-cases.ts";
import { testClaims } from "./store-claims.ts";
import { testContents } from "./store-contents.ts";
import { testEnded } from "./store-ended.ts";
import { type StoreTestSkip, testStoreLife } from "./store-life.ts";
import { testLists } from "./store-lists.ts";
import { testModel } from "./store-model.ts";

/** Declares the tests of a store; call it at the top of a test file. */
export function testStore(name: string, open: OpenStore, skip: readonly StoreTestSkip[] = []): void {
  describe(`store: ${name}`, () => {
    testClaims(open);
    testContents(open);
    testLists(open);
    testEnded(open);
    testStoreLife(open, skip);
    testModel(() => open(newPlace()));
  });
}
