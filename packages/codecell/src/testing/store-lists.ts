/** Tests of a store: lists and expiry. */
import { describe, expect, test } from "vitest";
import type { ListQuery, Store } from "../contract/store.ts";
import { bytes, claimed, FUTURE, LONG, newPlace, newRun, type OpenStore, OVER } from "./store-cases.ts";

const PAST = 1;

async function idsOf(store: Store, query?: ListQuery): Promise<string[]> {
  return (await store.list(query)).map(({ id }) => id);
}

export function testLists(open: OpenStore): void {
  describe("lists", () => {
    test("are ordered by code points, whatever the order of putting", async () => {
      await using store = await open(newPlace());
      const ids = ["B", "a", "a1", "a\u0001", "é", "\uFFFD", "\u{1F511}", "Z z", "10", "9"];
      for (const id of ids) await store.put(newRun(id), LONG);
      const ordered = ids.toSorted((a, b) => Buffer.from(a).compare(Buffer.from(b)));
      expect(await idsOf(store)).toEqual(ordered);
      expect(await idsOf(store, { after: "\uFFFD" })).toEqual(["\u{1F511}"]);
    });

    test("come in pages", async () => {
      await using store = await open(newPlace());
      const ids = [...Array(120).keys()].map((n) => `run ${String(n).padStart(3, "0")}`);
      await Promise.all(ids.map((id) => store.put(newRun(id), LONG)));
      expect(await idsOf(store)).toEqual(ids.slice(0, 100));
      expect(await idsOf(store, { limit: 100_000 })).toEqual(ids);
      expect(await idsOf(store, { limit: 0 })).toEqual(ids.slice(0, 1));
      const paged: string[] = [];
      for (let page = await idsOf(store, { limit: 7 }); page.length > 0;) {
        paged.push(...page);
        page = await idsOf(store, { limit: 7, after: page.at(-1) ?? "" });
      }
      expect(paged).toEqual(ids);
      expect(await idsOf(store, { after: "run 0505" })).toEqual(ids.slice(51));
    });

    test("are confined to a scope", async () => {
      await using store = await open(newPlace());
      for (const id of ["a", "b", "c", "d"]) {
        await store.put(newRun(id, { scope: id < "c" ? "one" : "two" }), LONG);
      }
      expect(await idsOf(store, { scope: "one" })).toEqual(["a", "b"]);
      expect(await idsOf(store, { scope: "two", after: "c" })).toEqual(["d"]);
      expect(await idsOf(store, { scope: "three" })).toEqual([]);
    });

    test("say who holds a run, and leave out those when asked for claimable ones", async () => {
      await using store = await open(newPlace());
      await store.put(newRun("held"), { owner: "ana", ms: 600_000 });
      await store.put(newRun("over"), OVER);
      const claim = await store.put(newRun("released", { scope: "other" }), LONG);
      await store.release(claim, { state: bytes(), expiresAt: FUTURE - 1, absorbed: [] });
      const changedAt: unknown = expect.any(Number);
      expect(await store.list()).toEqual([
        { id: "held", scope: "scope", expiresAt: FUTURE, changedAt, owner: "ana" },
        { id: "over", scope: "scope", expiresAt: FUTURE, changedAt },
        { id: "released", scope: "other", expiresAt: FUTURE - 1, changedAt },
      ]);
      expect(await idsOf(store, { claimable: true })).toEqual(["over", "released"]);
      expect(await idsOf(store, { claimable: true, scope: "scope" })).toEqual(["over"]);
      await claimed(store, "over");
      expect(await idsOf(store, { claimable: true })).toEqual(["released"]);
    });
  });

  describe("expiry", () => {
    test("deletes what is past it and not held, with all that belongs to it", async () => {
      await using store = await open(newPlace());
      await store.put(newRun("held", { expiresAt: PAST }), LONG);
      await store.put(newRun("over", { expiresAt: PAST }), OVER);
      await store.put(newRun("alive"), OVER);
      await store.release(await store.put(newRun("released", { expiresAt: PAST }), LONG));
      expect(await store.post("over", 0, bytes(1))).toBe(true);
      expect(await store.expire()).toBe(2);
      expect(await store.expire()).toBe(0);
      expect(await idsOf(store)).toEqual(["alive", "held"]);
      expect(await store.outcomes("over")).toBeUndefined();
      expect(await store.outcomes("held")).toEqual(new Map());
    });

    test("a run past it cannot be claimed nor is it listed, and its id is taken until it is deleted", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a", { expiresAt: PAST }), OVER);
      expect(await store.claim("a", LONG)).toEqual({ status: "absent" });
      expect(await store.list()).toEqual([]);
      expect(await store.list({ claimable: true })).toEqual([]);
      await expect(store.put(newRun("a"), LONG)).rejects.toMatchObject({ code: "exists" });
      // Its last claimant may go on.
      await store.renew(claim, 600_000);
      expect(await store.claim("a", LONG)).toMatchObject({ status: "held" });
      expect(await idsOf(store)).toEqual(["a"]);
      await store.release(claim, { state: bytes(2), expiresAt: FUTURE, absorbed: [] });
      expect((await claimed(store, "a")).run).toMatchObject({ state: bytes(2), expiresAt: FUTURE });
    });

    test("a released run lives as long as its next state says", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      await store.release(claim, { state: bytes(2), expiresAt: PAST, absorbed: [] });
      expect(await store.claim("a", LONG)).toEqual({ status: "absent" });
      expect(await store.expire()).toBe(1);
      await store.put(newRun("a"), LONG);
    });

    test("deletes many at once, by whoever asks, each once", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      const ids = [...Array(1200).keys()].map((n) => `run ${n}`);
      await Promise.all(ids.map((id) => store.put(newRun(id, { expiresAt: PAST }), OVER)));
      const counts = await Promise.all([store.expire(), other.expire()]);
      // What one is about to delete the other may leave to it.
      expect((counts[0] ?? 0) + (counts[1] ?? 0) + (await store.expire())).toBe(1200);
      await store.put(newRun("run 7"), LONG);
    });
  });
}
