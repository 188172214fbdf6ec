/** Tests of a store: what a run holds comes back as it was. */
import { describe, expect, test } from "vitest";
import { type Claim, STORE_TEXT_BYTES } from "../contract/store.ts";
import {
  bytes,
  claimed,
  FUTURE,
  LONG,
  newPlace,
  newRun,
  type OpenStore,
  OVER,
  refuses,
} from "./store-cases.ts";

const MiB = 1024 * 1024;

export function testContents(open: OpenStore): void {
  describe("contents", () => {
    test("a journal keeps its order, within an append and from append to append, also without waiting", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      const batches = [...Array(30).keys()].map((n) => [bytes(n, 0), bytes(n, 1), bytes(n, 2)]);
      await store.append(claim, []);
      await Promise.all(batches.map((batch) => store.append(claim, batch)));
      await store.release(claim);
      expect((await claimed(store, "a")).run.journal).toEqual(batches.flat());
    });

    test("an append happens as a whole or not at all", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      await expect(store.append(claim, [bytes(1), "2" as unknown as Uint8Array])).rejects.toThrow(TypeError);
      await store.release(claim);
      expect((await claimed(store, "a")).run.journal).toEqual([]);
    });

    test("a change after a release is refused, also when it does not wait for the release", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      const released = store.release(claim, { state: bytes(2), expiresAt: FUTURE, absorbed: [] });
      await refuses(store.append(claim, [bytes(1)]), "stale_claim");
      await released;
      expect((await claimed(store, "a")).run).toMatchObject({ state: bytes(2), journal: [] });
    });

    test("the first outcome of a call counts, whoever posts it", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      await store.put(newRun("a"), LONG);
      expect(await store.outcomes("a")).toEqual(new Map());
      const posts = [...Array(20).keys()].map((n) => (n % 2 === 0 ? store : other).post("a", 3, bytes(n)));
      const won = (await Promise.all(posts)).flatMap((first, n) => (first ? [n] : []));
      expect(won).toHaveLength(1);
      expect(await other.post("a", 3, bytes(99))).toBe(false);
      expect(await other.post("a", 0, bytes(5))).toBe(true);
      const expected = new Map([
        [0, bytes(5)],
        [3, bytes(won[0] ?? -1)],
      ]);
      expect(await store.outcomes("a")).toEqual(expected);
      expect(await other.outcomes("a")).toEqual(expected);
    });

    test("release() leaves a run as it is", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      await store.append(claim, [bytes(1)]);
      await store.post("a", 0, bytes(2));
      await store.release(claim);
      const { run } = await claimed(store, "a");
      expect(run).toEqual({ ...newRun("a"), journal: [bytes(1)], outcomes: new Map([[0, bytes(2)]]) });
    });

    test("release() with a next state empties the journal and deletes what was absorbed", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      await store.append(claim, [bytes(1), bytes(2)]);
      for (const call of [0, 1, 2]) await store.post("a", call, bytes(call));
      await store.release(claim, { state: bytes(3), expiresAt: FUTURE - 1, absorbed: [0, 2, 77] });
      const { run, claim: next } = await claimed(store, "a");
      expect(run).toEqual({
        ...newRun("a", { state: bytes(3), expiresAt: FUTURE - 1 }),
        journal: [],
        outcomes: new Map([[1, bytes(1)]]),
      });
      await store.append(next, [bytes(4)]);
      await store.release(next);
      expect((await claimed(store, "a")).run.journal).toEqual([bytes(4)]);
    });

    test("release() with a last entry adds it and its snapshot, and deletes what was absorbed", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      await store.append(claim, [bytes(1), bytes(2)]);
      await store.saveSnapshot(claim, bytes(8));
      for (const call of [0, 1, 2]) await store.post("a", call, bytes(call));
      const entry = bytes(3);
      const snapshot = bytes(9);
      const released = store.release(claim, { entry, snapshot, expiresAt: FUTURE - 1, absorbed: [0, 2, 77] });
      entry.fill(0);
      snapshot.fill(0);
      await released;
      const { run, claim: next } = await claimed(store, "a");
      expect(run).toEqual({
        ...newRun("a", { expiresAt: FUTURE - 1 }),
        journal: [bytes(1), bytes(2), bytes(3)],
        snapshot: bytes(9),
        outcomes: new Map([[1, bytes(1)]]),
      });
      await store.append(next, [bytes(4)]);
      await store.release(next, { entry: bytes(5), snapshot: bytes(10), expiresAt: FUTURE, absorbed: [] });
      const again = await claimed(store, "a");
      expect(again.run.journal).toEqual([1, 2, 3, 4, 5].map((one) => bytes(one)));
      expect(again.run.snapshot).toEqual(bytes(10));
      await store.release(again.claim, { state: bytes(6), expiresAt: FUTURE, absorbed: [] });
      const last = await claimed(store, "a");
      expect(last.run).toEqual({
        ...newRun("a", { state: bytes(6) }),
        journal: [],
        outcomes: new Map([[1, bytes(1)]]),
      });
    });

    test("the latest snapshot is kept beside the state, until there is another state", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      const claim = await store.put(newRun("a"), LONG);
      expect(await store.loadSnapshot(claim)).toBeUndefined();
      await store.saveSnapshot(claim, bytes(1));
      await store.saveSnapshot(claim, bytes(2, 0, 255));
      expect(await store.loadSnapshot(claim)).toEqual(bytes(2, 0, 255));
      await store.release(claim);
      const { run, claim: next } = await claimed(other, "a");
      expect(run).toEqual({ ...newRun("a"), journal: [], snapshot: bytes(2, 0, 255), outcomes: new Map() });
      await other.release(next, { state: bytes(3), expiresAt: FUTURE, absorbed: [] });
      const last = await claimed(store, "a");
      expect(last.run).not.toHaveProperty("snapshot");
      expect(await store.loadSnapshot(last.claim)).toBeUndefined();
    });

    test("a snapshot is deleted with its run", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      await store.saveSnapshot(claim, bytes(1));
      await store.delete(claim);
      const again = await store.put(newRun("a"), LONG);
      expect(await store.loadSnapshot(again)).toBeUndefined();
    });

    test("snapshots are copies, both ways", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      const given = bytes(1);
      const saved = store.saveSnapshot(claim, given);
      given[0] = 9;
      await saved;
      (await store.loadSnapshot(claim))?.fill(9);
      expect(await store.loadSnapshot(claim)).toEqual(bytes(1));
    });

    test("the last note under a key counts, until it expires", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      expect(await store.getNote("a")).toBeUndefined();
      const given = bytes(1);
      const put = store.putNote("a", given, FUTURE);
      given[0] = 9;
      await put;
      (await other.getNote("a"))?.fill(9);
      expect(await other.getNote("a")).toEqual(bytes(1));
      await other.putNote("a", bytes(2, 0, 255), FUTURE);
      await store.putNote("b", bytes(3), 1);
      expect(await store.getNote("b")).toBeUndefined();
      expect(await store.expire()).toBe(0);
      expect(await store.getNote("a")).toEqual(bytes(2, 0, 255));
      // Notes are not runs.
      expect(await store.list()).toEqual([]);
      expect(await store.claim("a", LONG)).toEqual({ status: "absent" });
      await expect(store.putNote("", bytes(1), FUTURE)).rejects.toThrow(RangeError);
    });

    test("an executor attends for as long as it said, and every process sees that", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      expect(await store.attends("ana")).toBe(false);
      await store.attend("ana", 600_000);
      await store.attend("ben", 600_000);
      expect(await other.attends("ana")).toBe(true);
      await other.expire();
      expect(await other.attends("ana")).toBe(true);
      await store.attend("ana", 0);
      await store.attend("ana", 0);
      expect(await other.attends("ana")).toBe(false);
      expect(await other.attends("ben")).toBe(true);
      await expect(store.attend("", 1)).rejects.toThrow(RangeError);
      // Executors are not runs.
      expect(await store.list()).toEqual([]);
      expect(await store.claim("ben", LONG)).toEqual({ status: "absent" });
    });

    test("delete() removes everything that belongs to a run, and nothing else", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      await store.append(claim, [bytes(1)]);
      await store.post("a", 0, bytes(2));
      await store.put(newRun("b"), LONG);
      await store.post("b", 0, bytes(3));
      await store.delete(claim);
      expect(await store.outcomes("a")).toBeUndefined();
      expect(await store.outcomes("b")).toEqual(new Map([[0, bytes(3)]]));
      await store.release(await store.put(newRun("a", { state: bytes(5) }), LONG));
      expect((await claimed(store, "a")).run).toEqual({
        ...newRun("a", { state: bytes(5) }),
        journal: [],
        outcomes: new Map(),
      });
    });

    test("runs whose ids begin alike keep their parts and scopes apart", async () => {
      await using store = await open(newPlace());
      const joints = ["", ":", "/", ".", "-", "_", "|", ",", "#", " ", "\u0001", "\u{10FFFF}"];
      const ids = ["a", ...joints.flatMap((joint) => [`a${joint}0`, `a${joint}0${joint}0`])];
      const put = async (id: string, n: number): Promise<Claim> => {
        const claim = await store.put(newRun(id, { scope: id, state: bytes(n) }), OVER);
        await store.append(claim, [bytes(n, 1), bytes(n, 2)]);
        await store.saveSnapshot(claim, bytes(n, 3));
        await store.post(id, 0, bytes(n, 4));
        return claim;
      };
      const claims = await Promise.all(ids.map(put));
      // What belongs to the first goes, and nothing else.
      await store.delete(claims[0] as Claim);
      await store.put(newRun("a", { scope: "a" }), OVER);
      for (const [n, id] of ids.entries()) {
        const parts = {
          state: bytes(n),
          journal: [bytes(n, 1), bytes(n, 2)],
          snapshot: bytes(n, 3),
          outcomes: new Map([[0, bytes(n, 4)]]),
        };
        const { run } = await claimed(store, id);
        expect(run).toEqual({
          ...newRun(id, { scope: id }),
          ...(n === 0 ? { journal: [], outcomes: new Map() } : parts),
        });
        for (const order of ["id", "newest"] as const) {
          expect((await store.list({ scope: id, order })).map((one) => one.id)).toEqual([id]);
        }
      }
    });

    test.each([
      "'; DROP TABLE runs; --",
      '"$1" ?1 :now %s {} \\',
      "ключ 🔑 \u{10FFFF}",
      "\n\t\r\u0001\u2028",
      "toString",
    ])("texts are kept as they are: %j", async (text) => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun(text, { scope: text }), { owner: text, ms: 600_000 });
      await store.put(newRun("other", { scope: "other" }), LONG);
      await store.post(text, 0, bytes(1));
      expect(await store.claim(text, LONG)).toMatchObject({ status: "held", owner: text });
      expect(await store.list({ scope: text })).toMatchObject([{ id: text, scope: text, owner: text }]);
      await store.release(claim);
      expect((await claimed(store, text)).run).toMatchObject({ id: text, scope: text });
    });

    test("texts may be long, and no longer than the bound", async () => {
      await using store = await open(newPlace());
      // Random digits do not compress, so that an index has to take the whole length.
      let seed = 1;
      const digit = (): string => ((seed = (seed * 48_271) % 2_147_483_647) % 36).toString(36);
      const long = Array.from({ length: STORE_TEXT_BYTES }, digit).join("");
      await store.put(newRun(long, { scope: long }), { owner: long, ms: 1000 });
      expect(await store.list({ scope: long })).toMatchObject([{ id: long, scope: long }]);
      await expect(store.put(newRun(`${long}x`), LONG)).rejects.toThrow(RangeError);
      await expect(store.put(newRun("a", { scope: "é".repeat(STORE_TEXT_BYTES - 1) }), LONG)).rejects.toThrow(
        RangeError,
      );
      await store.putNote(long, bytes(1), FUTURE);
      expect(await store.getNote(long)).toEqual(bytes(1));
      await store.attend(long, 600_000);
      expect(await store.attends(long)).toBe(true);
      await store.put(newRun("no scope", { scope: "" }), LONG);
      expect(await store.list({ scope: "" })).toMatchObject([{ id: "no scope", scope: "" }]);
    });

    test("misuse throws before anything happens", async () => {
      await using store = await open(newPlace());
      for (const id of ["nul\0", "lone \uD800", 7 as unknown as string]) {
        await expect(store.put(newRun(id), LONG)).rejects.toThrow(TypeError);
        await expect(store.post(id, 0, bytes())).rejects.toThrow(TypeError);
      }
      const numbers = [
        store.put(newRun(""), LONG),
        store.put(newRun("a", { expiresAt: Number.NaN }), LONG),
        store.put(newRun("a"), { owner: "", ms: -1 }),
        store.put(newRun("a"), { owner: "", ms: Number.MAX_SAFE_INTEGER }),
        store.claim("a", { owner: "", ms: 0.5 }),
        store.post("a", -1, bytes()),
        store.post("a", 1.5, bytes()),
        store.list({ limit: Number.NaN }),
      ];
      for (const promise of numbers) await expect(promise).rejects.toThrow(RangeError);
      expect(await store.list()).toEqual([]);
    });

    test("bytes may be empty or many, and the index of a call may be large", async () => {
      await using store = await open(newPlace());
      const large = new Uint8Array(5 * MiB).map((_, n) => (n * 31) % 256);
      const claim = await store.put(newRun("a", { state: bytes() }), LONG);
      await store.append(claim, [bytes(), large, bytes()]);
      await store.post("a", 0, bytes());
      await store.post("a", Number.MAX_SAFE_INTEGER, large);
      await store.release(claim);
      const first = await claimed(store, "a");
      expect(first.run.state).toEqual(bytes());
      expect(first.run.journal.map(({ length }) => length)).toEqual([0, large.length, 0]);
      expect(Buffer.compare(first.run.journal[1] ?? bytes(), large)).toBe(0);
      expect([...first.run.outcomes.keys()]).toEqual([0, Number.MAX_SAFE_INTEGER]);
      expect(Buffer.compare(first.run.outcomes.get(Number.MAX_SAFE_INTEGER) ?? bytes(), large)).toBe(0);
      await store.release(first.claim, { state: large, expiresAt: FUTURE, absorbed: [0] });
      expect(Buffer.compare((await claimed(store, "a")).run.state, large)).toBe(0);
    });

    test("bytes are copied, in and out", async () => {
      await using store = await open(newPlace());
      const mine = bytes(1);
      const next = bytes(1);
      const put = store.put(newRun("a", { state: mine }), LONG);
      mine[0] = 9;
      const claim = await put;
      mine[0] = 1;
      const appended = store.append(claim, [mine]);
      const posted = store.post("a", 0, mine);
      const outcomes = await posted.then(() => store.outcomes("a"));
      mine[0] = 9;
      await appended;
      outcomes?.get(0)?.fill(9);
      await store.release(claim);
      const { run, claim: second } = await claimed(store, "a", OVER);
      expect(run).toEqual({ ...newRun("a"), journal: [bytes(1)], outcomes: new Map([[0, bytes(1)]]) });
      for (const one of [run.state, ...run.journal, ...run.outcomes.values()]) one.fill(9);
      const third = await claimed(store, "a");
      expect(third.run).toEqual({ ...newRun("a"), journal: [bytes(1)], outcomes: new Map([[0, bytes(1)]]) });
      const released = store.release(third.claim, { state: next, expiresAt: FUTURE, absorbed: [] });
      next[0] = 9;
      await released;
      expect((await claimed(store, "a")).run.state).toEqual(bytes(1));
      expect(second.fence).toBeLessThan(third.claim.fence);
    });
  });
}
