/** Stored programs that yield, and whose process dies at a bad moment. */
import { createHost, type Host, type ToolSet } from "codecell";
import { createMemoryStore, type Store } from "codecell/store";
import { describe, expect, test } from "vitest";
import { suspensionOf } from "./suspension-of.ts";

const mayYield = true;
const sealKey = new Uint8Array(32).fill(6);

describe("a stored run that yields", () => {
  const source = `
    const kept = await tools.pay({});
    await yield_control("paid");
    return [kept, await tools.pay({})]`;

  function till(): { readonly tools: ToolSet; readonly paid: () => number } {
    let paid = 0;
    return { tools: { pay: { execute: () => ++paid } }, paid: () => paid };
  }

  function open(store: Store, leaseMs = 60_000): Host {
    return createHost({ workers: 1, store, sealKey, leaseMs });
  }

  /** A store on which a process dies: from the chosen change on, nothing that it does has any effect. */
  function dying(store: Store, diesAt: (change: "append" | "release", entries: number) => boolean): Store {
    let isDead = false;
    let entries = 0;
    const never = new Promise<never>(() => {});
    const orNever = <R>(change: () => Promise<R>): Promise<R> => (isDead ? never : change());
    return {
      ...store,
      append: (claim, added) => {
        isDead ||= diesAt("append", entries);
        entries += added.length;
        return orNever(() => store.append(claim, added));
      },
      release: (claim, next) => {
        isDead ||= diesAt("release", entries);
        return orNever(() => store.release(claim, next));
      },
      renew: (claim, ms) => orNever(() => store.renew(claim, ms)),
      delete: (claim) => orNever(() => store.delete(claim)),
    };
  }

  async function untilFree(store: Store): Promise<void> {
    while ((await store.list({ claimable: true })).length === 0) await new Promise(setImmediate);
  }

  test("is resumed by its id, and by its token, in another host [suspend:yield]", async () => {
    for (const by of ["id", "token"] as const) {
      await using store = createMemoryStore();
      const { tools, paid } = till();
      await using first = open(store);
      const result = await first.start({ source, tools, mayYield }).result;
      const { token, yielded } = suspensionOf(result);
      expect(yielded).toEqual(["paid"]);
      await using second = open(store);
      const named = by === "id" ? { id: result.runId } : { token };
      expect(await second.resume({ ...named, tools }).result).toMatchObject({ value: [1, 2] });
      expect(paid()).toBe(2);
      expect(await store.list()).toEqual([]);
    }
  });

  test("whose process died before the suspension was stored is suspended for its next one [suspend:yield]", async () => {
    await using store = createMemoryStore();
    const { tools, paid } = till();
    const first = open(
      dying(store, (change) => change === "release"),
      50,
    );
    const { runId: id } = first.start({ source, tools, mayYield });
    while ((await store.list()).length === 0) await new Promise(setImmediate);
    await untilFree(store);
    await using second = open(store);
    expect(suspensionOf(await second.resume({ id, tools }).result).yielded).toEqual(["paid"]);
    expect(await second.resume({ id, tools }).result).toMatchObject({ value: [1, 2] });
    expect(paid()).toBe(2);
  });

  test.each([
    ["before the end of the yield was stored", 0],
    ["after the end of the yield was stored", 1],
  ])("whose process died %s need not be resumed twice [suspend:yield]", async (_name, entries) => {
    await using store = createMemoryStore();
    const { tools, paid } = till();
    await using first = open(store);
    const { runId: id } = await first.start({ source, tools, mayYield }).result;
    const death = Promise.withResolvers<void>();
    const last = dying(store, (_change, written) => {
      if (written >= entries) death.resolve();
      return written >= entries;
    });
    const second = open(last, 50);
    void second.resume({ id, tools }).result;
    await death.promise;
    await untilFree(store);
    await using third = open(store);
    expect(await third.resume({ id, tools }).result).toMatchObject({ status: "completed", value: [1, 2] });
    expect(paid()).toBe(2);
  });

  test("whose host closes while the program is about to yield can be resumed by another", async () => {
    await using store = createMemoryStore();
    const gate = Promise.withResolvers<number>();
    const made = Promise.withResolvers<void>();
    const tools: ToolSet = {
      pay: {
        readOnly: true,
        execute: () => {
          made.resolve();
          return gate.promise;
        },
      },
    };
    const first = open(store);
    const { runId: id, result } = first.start({
      source: "const both = [yield_control('left'), tools.pay({})]; return (await Promise.all(both))[1]",
      tools,
      mayYield,
    });
    await made.promise;
    await first[Symbol.asyncDispose]();
    expect(await result).toMatchObject({ failure: { code: "aborted" } });
    gate.resolve(3);
    await using second = open(store);
    expect(suspensionOf(await second.resume({ id, tools }).result).yielded).toEqual(["left"]);
    expect(await second.resume({ id, tools }).result).toMatchObject({ value: 3 });
  });
});
