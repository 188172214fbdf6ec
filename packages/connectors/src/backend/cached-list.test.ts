import { describe, expect, test } from "vitest";
import { CachedList } from "./cached-list.ts";

const nobody = { signal: new AbortController().signal };

/** A list whose answers the test gives. */
function opened(ttlMs = 1_000_000): {
  readonly list: CachedList<string>;
  readonly asked: {
    readonly signal: AbortSignal;
    readonly answer: PromiseWithResolvers<readonly string[]>;
  }[];
} {
  const asked: { signal: AbortSignal; answer: PromiseWithResolvers<readonly string[]> }[] = [];
  const list = new CachedList<string>({
    ttlMs,
    load: (signal) => {
      const answer = Promise.withResolvers<readonly string[]>();
      asked.push({ signal, answer });
      return answer.promise;
    },
  });
  return { list, asked };
}

describe("a cached list", () => {
  test("is asked for once by all who ask meanwhile, and kept after that", async () => {
    const { list, asked } = opened();
    const both = Promise.all([list.get(nobody), list.get(nobody)]);
    asked[0]?.answer.resolve(["a"]);
    expect(await both).toEqual([["a"], ["a"]]);
    expect(await list.get(nobody)).toEqual(["a"]);
    expect(asked).toHaveLength(1);
  });

  test("is asked for again when its time is over", async () => {
    const { list, asked } = opened(0);
    for (const items of [["a"], ["b"]]) {
      const got = list.get(nobody);
      asked.at(-1)?.answer.resolve(items);
      expect(await got).toEqual(items);
    }
  });

  test("that was forgotten while it was on its way is not kept", async () => {
    const { list, asked } = opened();
    const before = list.get(nobody);
    list.forget();
    const after = list.get(nobody);
    asked[1]?.answer.resolve(["new"]);
    asked[0]?.answer.resolve(["old"]);
    expect(await before).toEqual(["old"]);
    expect(await after).toEqual(["new"]);
    expect(await list.get(nobody)).toEqual(["new"]);
    expect(asked).toHaveLength(2);
  });

  test("that failed is asked for again", async () => {
    const { list, asked } = opened();
    const first = list.get(nobody);
    asked[0]?.answer.reject(new Error("down"));
    await expect(first).rejects.toThrow("down");
    const second = list.get(nobody);
    asked[1]?.answer.resolve(["a"]);
    expect(await second).toEqual(["a"]);
  });

  test("goes on loading while somebody waits, and stops when nobody does", async () => {
    const { list, asked } = opened();
    const [one, other] = [new AbortController(), new AbortController()];
    const first = list.get({ signal: one.signal });
    const second = list.get({ signal: other.signal });
    const reason = new Error("gone");
    one.abort(reason);
    await expect(first).rejects.toBe(reason);
    expect(asked[0]?.signal.aborted).toBe(false);
    other.abort(reason);
    await expect(second).rejects.toBe(reason);
    expect(asked[0]?.signal.aborted).toBe(true);
    const again = list.get(nobody);
    asked[1]?.answer.resolve(["a"]);
    expect(await again).toEqual(["a"]);
  });
});
