/** Tests of a store: who may change a run. */
import { describe, expect, test } from "vitest";
import {
  allRefused,
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

export function testClaims(open: OpenStore): void {
  describe("claims", () => {
    test("put() claims the run, and refuses an id that is taken", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      expect(claim).toEqual({ id: "a", fence: expect.any(Number) });
      await refuses(store.put(newRun("a", { state: bytes(2) }), LONG), "exists");
      expect(await store.claim("a", LONG)).toMatchObject({ status: "held", owner: "owner" });
      await store.release(claim);
      expect((await claimed(store, "a")).run.state).toEqual(bytes(1));
    });

    test("exactly one of several concurrent puts of one id succeeds", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      const puts = [...Array(10).keys()].map((n) => (n % 2 === 0 ? store : other).put(newRun("a"), LONG));
      const settled = await Promise.allSettled(puts);
      expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    });

    test("exactly one of many concurrent claimants gets the run", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      await store.release(await store.put(newRun("a"), LONG));
      const owners = [...Array(20).keys()].map((n) => `owner ${n}`);
      const results = await Promise.all(
        owners.map((owner, n) => (n % 2 === 0 ? store : other).claim("a", { owner, ms: 600_000 })),
      );
      expect(results.filter(({ status }) => status === "claimed")).toHaveLength(1);
      const winner = owners[results.findIndex(({ status }) => status === "claimed")];
      const held = results.filter((result) => result.status === "held");
      expect(held).toHaveLength(19);
      expect(new Set(held.map(({ owner }) => owner))).toEqual(new Set([winner]));
    });

    test("an owner's name gives no right to its own run", async () => {
      await using store = await open(newPlace());
      await store.put(newRun("a"), LONG);
      expect(await store.claim("a", LONG)).toMatchObject({ status: "held" });
    });

    test("fences grow with every claim, also when a new run has the id of an ended one", async () => {
      await using store = await open(newPlace());
      let { fence } = await store.put(newRun("a"), OVER);
      for (let n = 0; n < 5; n++) {
        const { claim } = await claimed(store, "a", OVER);
        expect(claim.fence).toBeGreaterThan(fence);
        ({ fence } = claim);
        if (n === 2) {
          await store.delete(claim);
          const again = await store.put(newRun("a"), OVER);
          expect(again.fence).toBeGreaterThan(fence);
          await allRefused(store, claim);
          ({ fence } = again);
        }
      }
    });

    test("a claimant is refused everywhere once somebody else has claimed its run", async () => {
      await using store = await open(newPlace());
      const stale = await store.put(newRun("a"), OVER);
      await store.append(stale, [bytes(1)]);
      await store.post("a", 0, bytes(7));
      const { claim } = await claimed(store, "a", OVER);
      await allRefused(store, stale);
      const { run } = await claimed(store, "a");
      expect(run).toEqual({ ...newRun("a"), journal: [bytes(1)], outcomes: new Map([[0, bytes(7)]]) });
      await allRefused(store, claim);
    });

    test("a claimant whose lease is over may go on until somebody else claims the run", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), OVER);
      await store.append(claim, [bytes(1)]);
      await store.renew(claim, 600_000);
      expect(await store.claim("a", LONG)).toMatchObject({ status: "held" });
      await store.renew(claim, 0);
      await store.release(claim, { state: bytes(2), expiresAt: FUTURE, absorbed: [] });
      const next = await claimed(store, "a", OVER);
      expect(next.run).toMatchObject({ state: bytes(2), journal: [] });
      await store.delete(next.claim);
      expect(await store.claim("a", LONG)).toEqual({ status: "absent" });
    });

    test("whoever released a run is refused", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      await store.release(claim);
      await allRefused(store, claim);
      expect((await claimed(store, "a")).run.journal).toEqual([]);
    });

    test("renew() moves the end of the lease", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a"), { owner: "ana", ms: 60_000 });
      const before = await store.claim("a", LONG);
      await store.renew(claim, 600_000);
      const after = await store.claim("a", LONG);
      if (before.status !== "held" || after.status !== "held") throw new Error("not held");
      expect(after.until - before.until).toBeGreaterThan(500_000);
    });

    test("renew() can move the expiry too", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a", { expiresAt: 1 }), LONG);
      await store.renew(claim, 0, FUTURE);
      const next = await claimed(store, "a", LONG);
      expect(next.run.expiresAt).toBe(FUTURE);
      await store.renew(next.claim, 0);
      expect(await store.list()).toMatchObject([{ id: "a", expiresAt: FUTURE }]);
      await store.renew(next.claim, 0, 1);
      expect(await store.claim("a", LONG)).toEqual({ status: "absent" });
    });

    test("to a claimant with a scope, a run of another scope is absent and stays as it is", async () => {
      await using store = await open(newPlace());
      const claim = await store.put(newRun("a", { scope: "ana" }), LONG);
      expect(await store.claim("a", LONG, "ben")).toEqual({ status: "absent" });
      expect(await store.claim("a", LONG, "ana")).toMatchObject({ status: "held" });
      await store.release(claim);
      expect(await store.claim("a", LONG, "")).toEqual({ status: "absent" });
      expect(await store.claim("a", LONG, "ana")).toMatchObject({ status: "claimed" });
    });

    test("a run that was never put is absent, and changes to it are refused", async () => {
      await using store = await open(newPlace());
      expect(await store.claim("a", LONG)).toEqual({ status: "absent" });
      expect(await store.outcomes("a")).toBeUndefined();
      expect(await store.post("a", 0, bytes(1))).toBe(false);
      await allRefused(store, { id: "a", fence: 1 });
    });

    test("claimants that race with the last one see all that it was allowed to append", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      for (let round = 0; round < 20; round++) {
        const id = `run ${round}`;
        const first = await store.put(newRun(id), OVER);
        const [appended, second] = await Promise.all([
          store.append(first, [bytes(round)]).then(
            () => true,
            () => false,
          ),
          claimed(other, id),
        ]);
        expect(second.run.journal).toEqual(appended ? [bytes(round)] : []);
      }
    });

    test.each([
      ["the lease", 600_000, FUTURE, "held"],
      ["the expiry", 0, 1, "absent"],
    ] as const)(
      "of a claim and a renewal of %s that race, one is refused",
      async (_what, ms, expiresAt, refusal) => {
        const place = newPlace();
        await using store = await open(place);
        await using other = await open(place);
        for (let round = 0; round < 20; round++) {
          const id = `run ${round}`;
          const first = await store.put(newRun(id), OVER);
          // The claim begins first, so that a driver which trusts its look at the run does not see the renewal.
          const [{ status }, renewed] = await Promise.all([
            other.claim(id, LONG),
            store.renew(first, ms, expiresAt).then(
              () => true,
              () => false,
            ),
          ]);
          expect(status).toBe(renewed ? refusal : "claimed");
        }
      },
    );

    test("a claimant that names its scope gets no run of another scope that takes the id meanwhile", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      for (let round = 0; round < 20; round++) {
        const id = `run ${round}`;
        const first = await store.put(newRun(id, { scope: "ana" }), OVER);
        const [answer] = await Promise.all([
          other.claim(id, OVER, "ana"),
          store.delete(first).catch(() => {}),
          store.put(newRun(id, { scope: "ben" }), OVER).catch(() => {}),
        ]);
        if (answer.status === "claimed") expect(answer.run.scope).toBe("ana");
      }
    });
  });
}
