/** Tests of a store: watches and disposal. */
import { describe, expect, test } from "vitest";
import type { Store } from "../contract/store.ts";
import { bytes, claimed, LONG, newPlace, newRun, type OpenStore, OVER, refuses } from "./store-cases.ts";

/** Tests of what not every store can do. */
export type StoreTest = "outlives its handles" | "handles close apart";

export interface StoreTestSkip {
  readonly test: StoreTest;
  readonly reason: string;
}

/** A watch, and the promise of its next callback. */
async function watch(
  store: Store,
  id: string,
): Promise<{ next(): Promise<void>; end(): void; calls: number }> {
  let called = Promise.withResolvers<void>();
  const watching = {
    calls: 0,
    next: () => called.promise,
    end: () => {},
  };
  watching.end = await store.watch(id, () => {
    watching.calls++;
    called.resolve();
    called = Promise.withResolvers();
  });
  return watching;
}

export function testStoreLife(open: OpenStore, skip: readonly StoreTestSkip[]): void {
  const unless = (title: StoreTest): typeof test =>
    skip.some((one) => one.test === title) ? (test.skip as typeof test) : test;

  describe("watches", () => {
    test.each(["this", "another"])("are called for what %s handle does", async (who) => {
      const place = newPlace();
      await using store = await open(place);
      await using another = await open(place);
      const other = who === "this" ? store : another;
      const claim = await store.put(newRun("a"), OVER);
      const watching = await watch(store, "a");
      const acts: (() => Promise<unknown>)[] = [
        () => other.post("a", 0, bytes(1)),
        () => other.post("a", 1, bytes(1)),
        () => other.release(claim),
        async () => other.delete((await claimed(other, "a")).claim),
      ];
      for (const act of acts) {
        const called = watching.next();
        await act();
        await called;
      }
      expect(await store.claim("a", LONG)).toEqual({ status: "absent" });
    });

    test("are called for expiry", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      await store.put(newRun("a", { expiresAt: 1 }), OVER);
      const watching = await watch(store, "a");
      const called = watching.next();
      await other.expire();
      await called;
    });

    test("miss nothing after they began, however many there are", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      const ids = [...Array(50).keys()].map((n) => `run ${n}`);
      await Promise.all(ids.map((id) => store.put(newRun(id), LONG)));
      await Promise.all(
        ids.map(async (id) => {
          const { promise, resolve } = Promise.withResolvers<void>();
          await store.watch(id, resolve);
          await other.post(id, 0, bytes(1));
          await promise;
        }),
      );
    });

    test("a run may be watched before it exists", async () => {
      const place = newPlace();
      await using store = await open(place);
      await using other = await open(place);
      const watching = await watch(store, "a");
      const called = watching.next();
      await other.release(await other.put(newRun("a"), LONG));
      await called;
    });

    test("end, each on its own, and are not called afterwards", async () => {
      await using store = await open(newPlace());
      await store.put(newRun("a"), LONG);
      const callback = { calls: 0 };
      const onChange = (): void => void callback.calls++;
      const [end] = await Promise.all([store.watch("a", onChange), store.watch("a", onChange)]);
      const first = await watch(store, "a");
      const last = await watch(store, "a");
      end();
      end();
      first.end();
      const called = last.next();
      await store.post("a", 0, bytes(1));
      await called;
      expect(callback.calls).toBeGreaterThan(0);
      expect(first.calls).toBe(0);
    });
  });

  describe("the end", () => {
    test("everything rejects with `closed`, and a second disposal does no harm", async () => {
      const store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      let calls = 0;
      const end = await store.watch("a", () => calls++);
      await store[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      const asked = [
        store.put(newRun("b"), LONG),
        store.claim("a", LONG),
        store.renew(claim, 1),
        store.append(claim, []),
        store.saveSnapshot(claim, bytes()),
        store.loadSnapshot(claim),
        store.attend("executor", 1),
        store.attends("executor"),
        store.putNote("key", bytes(), 1),
        store.getNote("key"),
        store.post("a", 0, bytes()),
        store.outcomes("a"),
        store.release(claim),
        store.delete(claim),
        store.list(),
        store.readEnded("a"),
        store.expire(),
        store.watch("a", () => {}),
      ];
      for (const promise of asked) await refuses(promise, "closed");
      end();
      expect(calls).toBe(0);
    });

    test("what had begun is finished", async () => {
      const store = await open(newPlace());
      const claim = await store.put(newRun("a"), LONG);
      const begun = [store.append(claim, [bytes(1)]), store.append(claim, [bytes(2)]), store.release(claim)];
      await store[Symbol.asyncDispose]();
      await Promise.all(begun);
    });

    unless("handles close apart")("closing one handle leaves other handles open", async () => {
      const place = newPlace();
      const store = await open(place);
      await using other = await open(place);
      await store.put(newRun("a"), OVER);
      await store[Symbol.asyncDispose]();
      expect((await claimed(other, "a")).run.state).toEqual(bytes(1));
    });

    unless("outlives its handles")("runs outlive their handles", async () => {
      const place = newPlace();
      const store = await open(place);
      const claim = await store.put(newRun("a"), LONG);
      await store.append(claim, [bytes(1)]);
      await store.post("a", 3, bytes(3));
      await store[Symbol.asyncDispose]();
      await using again = await open(place);
      expect(await again.claim("a", LONG)).toMatchObject({ status: "held" });
      await again.append(claim, [bytes(2)]);
      await again.release(claim);
      const { run, claim: next } = await claimed(again, "a");
      expect(next.fence).toBeGreaterThan(claim.fence);
      expect(run).toEqual({
        ...newRun("a"),
        journal: [bytes(1), bytes(2)],
        outcomes: new Map([[3, bytes(3)]]),
      });
    });
  });
}
