/** Tests of a store: lists and expiry. */
import { describe, expect, test } from "vitest";
import {
  type ListQuery,
  type RunSummary,
  type Store,
  STORE_TEXT_BYTES,
  STORE_TOOL_NAMES,
} from "../contract/store.ts";
import { bytes, claimed, FUTURE, LONG, newPlace, newRun, type OpenStore, OVER } from "./store-cases.ts";

const PAST = 1;

async function idsOf(store: Store, query?: ListQuery): Promise<string[]> {
  return (await store.list(query)).map(({ id }) => id);
}

/** Every clock shows another millisecond afterwards. */
async function nextMoment(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 5));
}

export function testLists(open: OpenStore): void {
  describe("lists", () => {
    test("are ordered by code points, whatever the order in which runs were put", async () => {
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

    test("say who holds a run, and can leave out runs that are held", async () => {
      await using store = await open(newPlace());
      await store.put(newRun("held"), { owner: "ana", ms: 600_000 });
      await store.put(newRun("over"), OVER);
      const claim = await store.put(newRun("released", { scope: "other" }), LONG);
      await store.release(claim, { state: bytes(), expiresAt: FUTURE - 1, absorbed: [] });
      const changedAt: unknown = expect.any(Number);
      const rest = { changedAt, createdAt: changedAt, calls: 0, failed: 0, pending: 0 };
      expect(await store.list()).toEqual([
        { id: "held", scope: "scope", status: "running", expiresAt: FUTURE, owner: "ana", ...rest },
        { id: "over", scope: "scope", status: "running", expiresAt: FUTURE, ...rest },
        { id: "released", scope: "other", status: "suspended", expiresAt: FUTURE - 1, ...rest },
      ]);
      expect(await idsOf(store, { claimable: true })).toEqual(["over", "released"]);
      expect(await idsOf(store, { claimable: true, scope: "scope" })).toEqual(["over"]);
      await claimed(store, "over");
      expect(await idsOf(store, { claimable: true })).toEqual(["released"]);
    });

    test("have the facts that the host gave, until it gives others", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a", { facts: { calls: 1, failed: 0, pending: 0 } }), OVER);
      const summary = async (): Promise<unknown> => (await store.list())[0];
      expect(await summary()).toMatchObject({ calls: 1, failed: 0, pending: 0 });
      const tools = ["list", "ünï'\u0001"];
      await store.append(claim, [bytes(1)], { calls: 5, failed: 2, pending: 3, tools });
      expect(await summary()).toMatchObject({ status: "running", calls: 5, failed: 2, pending: 0, tools });
      await store.append(claim, [bytes(1)]);
      await store.renew(claim, 0);
      await store.release(claim);
      expect(await summary()).toMatchObject({ status: "suspended", calls: 5, failed: 2, pending: 3, tools });
      const again = await claimed(store, "a");
      const facts = { calls: 6, failed: 2, pending: 1 };
      await store.release(again.claim, { state: bytes(2), expiresAt: FUTURE, absorbed: [], facts });
      expect(await summary()).toMatchObject(facts);
      expect(await summary()).not.toHaveProperty("tools");
    });

    test("say when a run was last put, claimed or released, or ended", async () => {
      await using store = await open(newPlace());
      const status = ["running", "suspended", "completed"] as const;
      const now = async (): Promise<RunSummary> => {
        const [run] = await store.list({ status });
        if (run === undefined) throw new Error("The run is missing");
        return run;
      };
      const first = await store.put(newRun("a"), OVER);
      const put = await now();
      expect(put.changedAt).toBe(put.createdAt);
      await nextMoment();
      await store.append(first, [bytes(1)], { calls: 1, failed: 0, pending: 0 });
      await store.saveSnapshot(first, bytes(2));
      await store.post("a", 0, bytes(3));
      await store.renew(first, 0, FUTURE - 1);
      expect((await now()).changedAt).toBe(put.changedAt);
      const { claim } = await claimed(store, "a");
      const afterClaim = await now();
      expect(afterClaim.changedAt).toBeGreaterThan(put.changedAt);
      await nextMoment();
      await store.release(claim);
      const afterRelease = await now();
      expect(afterRelease.changedAt).toBeGreaterThan(afterClaim.changedAt);
      const last = await claimed(store, "a");
      const { changedAt } = await now();
      await nextMoment();
      await store.release(last.claim, { ended: "completed", state: bytes(4), expiresAt: FUTURE });
      const ended = await now();
      expect(ended.changedAt).toBeGreaterThan(changedAt);
      expect(ended).toMatchObject({ createdAt: put.createdAt, endedAt: ended.changedAt });
    });

    test("refuse facts with wrong counts or with too many names", async () => {
      await using store = await open(newPlace());
      const none = { calls: 0, failed: 0, pending: 0 };
      for (const facts of [
        { ...none, calls: -1 },
        { ...none, failed: 0.5 },
        { ...none, tools: Array.from({ length: STORE_TOOL_NAMES + 1 }, (_, n) => `tool ${n}`) },
        { ...none, tools: ["x".repeat(STORE_TEXT_BYTES), "y"] },
      ]) {
        await expect(store.put(newRun("a", { facts }), LONG)).rejects.toThrow(RangeError);
      }
      await expect(store.put(newRun("a", { facts: { ...none, tools: ["nul\0"] } }), LONG)).rejects.toThrow(
        TypeError,
      );
      expect(await store.list()).toEqual([]);
    });

    test("can be confined to a status", async () => {
      await using store = await open(newPlace());
      await store.put(newRun("running"), LONG);
      await store.put(newRun("abandoned"), OVER);
      await store.release(await store.put(newRun("suspended"), LONG));
      for (const ended of ["completed", "failed"] as const) {
        await store.release(await store.put(newRun(ended), LONG), {
          ended,
          state: bytes(1),
          expiresAt: FUTURE,
        });
      }
      expect(await idsOf(store)).toEqual(["abandoned", "running", "suspended"]);
      expect(await idsOf(store, { status: "running" })).toEqual(["abandoned", "running"]);
      expect(await idsOf(store, { status: "suspended" })).toEqual(["suspended"]);
      expect(await idsOf(store, { status: "completed" })).toEqual(["completed"]);
      expect(await idsOf(store, { status: ["failed", "suspended"] })).toEqual(["failed", "suspended"]);
      const all = ["running", "suspended", "completed", "failed"] as const;
      expect(await idsOf(store, { status: all })).toEqual([
        "abandoned",
        "completed",
        ...all.slice(3),
        ...all.slice(0, 2),
      ]);
      expect(await idsOf(store, { status: all, limit: 2 })).toEqual(["abandoned", "completed"]);
      expect(await idsOf(store, { status: all, claimable: true })).toEqual(["abandoned", "suspended"]);
      expect(await idsOf(store, { status: [] })).toEqual([]);
      for (const status of ["ended", "toString"] as unknown as "failed"[]) {
        await expect(store.list({ status })).rejects.toThrow(TypeError);
      }
    });

    test("come newest first, in pages that miss nothing while runs come, end and go", async () => {
      await using store = await open(newPlace());
      const ids = [...Array(24).keys()].map((n) => `run ${String(n).padStart(2, "0")}`);
      for (const [n, id] of ids.entries()) {
        await store.release(await store.put(newRun(id, { scope: n % 2 === 0 ? "even" : "odd" }), LONG));
      }
      const status = ["running", "suspended", "completed", "failed"] as const;
      const newest = await store.list({ order: "newest", status });
      const places = newest.map(({ id, createdAt }) => [createdAt, id] as const);
      expect(places).toEqual(
        places.toSorted(([a, one], [b, other]) => b - a || Buffer.from(other).compare(Buffer.from(one))),
      );
      const expected = newest.map(({ id }) => id);
      expect(expected.toSorted()).toEqual(ids);
      const seen: string[] = [];
      let after: ListQuery["after"];
      for (;;) {
        const page = await store.list({ order: "newest", status, limit: 5, ...(after && { after }) });
        const last = page.at(-1);
        if (last === undefined) break;
        seen.push(...page.map(({ id }) => id));
        after = last;
        // The last run of the page ends, the first one is deleted, and a new run is put.
        const { claim } = await claimed(store, last.id);
        await store.release(claim, { ended: "failed", state: bytes(), expiresAt: FUTURE });
        await store.delete((await claimed(store, page[0]?.id ?? "")).claim);
        await store.put(newRun(`later ${seen.length}`, { expiresAt: PAST }), OVER);
      }
      expect(seen).toEqual(expected);
      const even = await idsOf(store, { order: "newest", scope: "even", status });
      expect(even).toEqual(
        (await store.list({ order: "newest", status })).flatMap(({ id, scope }) =>
          scope === "even" ? [id] : [],
        ),
      );
      await expect(store.list({ order: "newest", after: "run 01" })).rejects.toThrow(TypeError);
    });

    test("can be confined to a span of time", async () => {
      await using store = await open(newPlace());
      await store.put(newRun("a"), LONG);
      await store.release(await store.put(newRun("b"), LONG), {
        ended: "completed",
        state: bytes(1),
        expiresAt: FUTURE,
      });
      const status = ["running", "completed"] as const;
      const [one, two] = await store.list({ status });
      if (one === undefined || two === undefined) throw new Error("Runs are missing");
      const last = Math.max(one.createdAt, two.createdAt);
      const first = Math.min(one.createdAt, two.createdAt);
      for (const order of ["id", "newest"] as const) {
        const of = async (query: ListQuery): Promise<string[]> =>
          (await idsOf(store, { status, order, ...query })).sort();
        expect(await of({ createdFrom: first })).toEqual(["a", "b"]);
        expect(await of({ createdFrom: last + 1 })).toEqual([]);
        expect(await of({ createdBefore: first })).toEqual([]);
        expect(await of({ createdBefore: last + 1 })).toEqual(["a", "b"]);
        expect(await of({ createdFrom: first, createdBefore: last + 1, status: "completed" })).toEqual(["b"]);
      }
      await expect(store.list({ createdFrom: Number.NaN })).rejects.toThrow(RangeError);
    });
  });

  describe("expiry", () => {
    test("deletes expired runs that nobody holds, with all their parts", async () => {
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

    test("an expired run is neither claimable nor listed, and its id is taken until the run is deleted", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a", { expiresAt: PAST }), OVER);
      expect(await store.claim("a", LONG)).toEqual({ status: "absent" });
      expect(await store.list()).toEqual([]);
      expect(await store.list({ claimable: true })).toEqual([]);
      await expect(store.put(newRun("a"), LONG)).rejects.toMatchObject({ code: "exists" });
      // The last claimant may go on.
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

    test("deletes many at once, each once, also by two stores together", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      const ids = [...Array(1200).keys()].map((n) => `run ${n}`);
      await Promise.all(ids.map((id) => store.put(newRun(id, { expiresAt: PAST }), OVER)));
      const counts = await Promise.all([store.expire(), other.expire()]);
      // Each of the two may leave a run to the other.
      expect((counts[0] ?? 0) + (counts[1] ?? 0) + (await store.expire())).toBe(1200);
      await store.put(newRun("run 7"), LONG);
    });
  });
}
