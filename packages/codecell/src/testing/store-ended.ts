/** Tests of a store: runs that have ended, and how many of them are kept. */
import { describe, expect, test } from "vitest";
import type { EndState, Store } from "../contract/store.ts";
import { allRefused, bytes, claimed, FUTURE, LONG, newPlace, newRun, type OpenStore } from "./store-cases.ts";

const PAST = 1;
const ENDED = ["completed", "failed"] as const;

function endState(given: Partial<EndState> = {}): EndState {
  return { ended: "completed", state: bytes(7), expiresAt: FUTURE, ...given };
}

async function end(store: Store, id: string, given: Partial<EndState> = {}): Promise<void> {
  await store.release(await store.put(newRun(id), LONG), endState(given));
}

async function kept(store: Store): Promise<string[]> {
  return (await store.list({ status: ENDED })).map(({ id }) => id);
}

export function testEnded(open: OpenStore): void {
  describe("ended runs", () => {
    test("can be read and listed until they expire", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      const claim = await store.put(newRun("a", { scope: "ana" }), LONG);
      const [before] = await store.list();
      const state = bytes(7, 0, 255);
      const facts = { calls: 4, failed: 1, pending: 2, tools: ["list"] };
      const released = store.release(claim, endState({ ended: "failed", state, facts }));
      state.fill(1);
      await released;
      const summary = {
        id: "a",
        scope: "ana",
        status: "failed",
        createdAt: before?.createdAt,
        expiresAt: FUTURE,
        endedAt: expect.any(Number),
        changedAt: expect.any(Number),
        calls: 4,
        failed: 1,
        pending: 0,
        tools: ["list"],
      } as const;
      const read = await other.readEnded("a", "ana");
      expect(read).toEqual({ ...summary, state: bytes(7, 0, 255) });
      expect(read?.endedAt).toBe(read?.changedAt);
      expect(read?.endedAt).toBeGreaterThanOrEqual(before?.createdAt ?? Infinity);
      expect(await other.list({ status: "failed" })).toEqual([summary]);
      read?.state.fill(9);
      expect((await other.readEnded("a"))?.state).toEqual(bytes(7, 0, 255));
      expect(await other.readEnded("a", "ben")).toBeUndefined();
      expect(await other.readEnded("b")).toBeUndefined();
      await end(store, "b", { expiresAt: PAST });
      expect(await store.readEnded("b")).toBeUndefined();
      expect(await kept(store)).toEqual(["a"]);
    });

    test("cannot be claimed or changed, and their other parts are deleted", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      await store.append(claim, [bytes(1)]);
      await store.saveSnapshot(claim, bytes(2));
      await store.post("a", 0, bytes(3));
      await store.release(claim, endState());
      await allRefused(store, claim);
      expect(await store.claim("a", LONG)).toEqual({ status: "absent" });
      expect(await store.post("a", 1, bytes(1))).toBe(false);
      expect(await store.outcomes("a")).toBeUndefined();
      expect(await store.list()).toEqual([]);
      // The id is free again. A new run with this id replaces the ended run only when it ends too.
      const again = await store.put(newRun("a", { state: bytes(5) }), LONG);
      expect(again.fence).toBeGreaterThan(claim.fence);
      expect((await store.readEnded("a"))?.state).toEqual(bytes(7));
      await store.release(again);
      const next = await claimed(store, "a");
      expect(next.run).toEqual({ ...newRun("a", { state: bytes(5) }), journal: [], outcomes: new Map() });
      await store.release(next.claim, endState({ ended: "failed", state: bytes(8) }));
      expect(await store.readEnded("a")).toMatchObject({ status: "failed", state: bytes(8) });
      expect(await kept(store)).toEqual(["a"]);
    });

    test("are not made by a stale claim or by misuse", async () => {
      await using store = await open(newPlace());
      const stale = await store.put(newRun("a"), { owner: "", ms: 0 });
      const { claim } = await claimed(store, "a");
      await expect(store.release(stale, endState())).rejects.toMatchObject({ code: "stale_claim" });
      await expect(store.release(claim, endState({ ended: "done" as "failed" }))).rejects.toThrow(TypeError);
      await expect(store.release(claim, endState({ state: "" as unknown as Uint8Array }))).rejects.toThrow(
        TypeError,
      );
      await expect(store.release(claim, endState({ expiresAt: 0.5 }))).rejects.toThrow(RangeError);
      expect(await kept(store)).toEqual([]);
      await store.release(claim, endState());
      expect(await kept(store)).toEqual(["a"]);
    });

    test("watchers of a run are called when it ends", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      const claim = await store.put(newRun("a"), LONG);
      const { promise, resolve } = Promise.withResolvers<void>();
      await other.watch("a", resolve);
      await store.release(claim, endState());
      await promise;
    });

    test("are deleted by expiry, and counted", async () => {
      await using store = await open(newPlace());
      for (const id of ["a", "b", "c"]) await end(store, id, { expiresAt: id === "b" ? FUTURE : PAST });
      await store.put(newRun("live"), LONG);
      expect(await store.expire()).toBe(2);
      expect(await kept(store)).toEqual(["b"]);
      expect(await store.list()).toHaveLength(1);
    });

    test("beyond a number the oldest are deleted, and no other run", async () => {
      await using store = await open(newPlace());
      const ids = ["a", "b", "c", "d", "e", "f", "g"];
      for (const id of ids) await end(store, id);
      // Among runs that ended at the same moment, the last by id counts as the newest.
      const endings = await store.list({ status: ENDED });
      const oldestFirst = endings
        .toSorted((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0) || (a.id < b.id ? -1 : 1))
        .map(({ id }) => id);
      await store.release(await store.put(newRun("suspended"), LONG));
      await store.put(newRun("running"), LONG);
      expect(await store.expire({ runs: 7, bytes: 1_000_000 })).toBe(0);
      expect(await store.expire({ runs: 4, bytes: 1_000_000 })).toBe(3);
      expect(await kept(store)).toEqual(oldestFirst.slice(3).toSorted());
      expect(await store.expire({ runs: 0, bytes: 1_000_000 })).toBe(4);
      expect(await kept(store)).toEqual([]);
      expect(await store.list()).toHaveLength(2);
      for (const bounds of [
        { runs: -1, bytes: 1 },
        { runs: 1, bytes: Number.NaN },
      ]) {
        await expect(store.expire(bounds)).rejects.toThrow(RangeError);
      }
    });

    test("beyond a size the oldest are deleted", async () => {
      await using store = await open(newPlace());
      for (const id of ["a", "b", "c"]) await end(store, id, { state: new Uint8Array(1000) });
      expect(await store.expire({ runs: 100, bytes: 10_000 })).toBe(0);
      expect(await store.expire({ runs: 100, bytes: 2500 })).toBe(1);
      expect(await store.expire({ runs: 100, bytes: 2500 })).toBe(0);
      expect(await kept(store)).toHaveLength(2);
      expect(await store.expire({ runs: 100, bytes: 999 })).toBe(2);
      expect(await kept(store)).toEqual([]);
      await end(store, "d", { state: new Uint8Array(10) });
      expect(await store.expire({ runs: 100, bytes: 2500 })).toBe(0);
      expect(await kept(store)).toEqual(["d"]);
    });

    test("many are deleted at once, each once, also by two stores together", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      const ids = [...Array(350).keys()].map((n) => `run ${n}`);
      await Promise.all(ids.map((id) => end(store, id)));
      const counts = await Promise.all([
        store.expire({ runs: 40, bytes: 1_000_000 }),
        other.expire({ runs: 40, bytes: 1_000_000 }),
      ]);
      const last = await store.expire({ runs: 40, bytes: 1_000_000 });
      expect((counts[0] ?? 0) + (counts[1] ?? 0) + last).toBe(310);
      expect(await kept(store)).toHaveLength(40);
    });
  });
}
