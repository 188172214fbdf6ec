/** Suspended runs that are given up. */
import { createHost, createMemoryStore, type Store } from "codecell";
import { describe, expect, test } from "vitest";

const sealKey = new Uint8Array(32).fill(5);
const tools = {
  ask: {
    execute: (_input: unknown, call: { readonly resolution?: unknown; suspend(payload: null): never }) =>
      call.resolution ?? call.suspend(null),
  },
};

describe.each(["token", "store"])("a run that is suspended into a %s and given up", (where) => {
  test("can be resumed by nobody, and leaves nothing [suspend:discard]", async () => {
    await using memory = createMemoryStore();
    const store: Partial<Record<"store", Store>> = where === "store" ? { store: memory } : {};
    await using host = createHost({ workers: 1, sealKey, ...store });
    expect(host.isDurable).toBe(where === "store");
    const { status, ...rest } = await host.start({ source: "return await tools.ask()", tools, scope: "s" })
      .result;
    if (status !== "suspended" || !("suspension" in rest)) throw new Error(status);
    const { token } = rest.suspension;
    expect(await host.discard({ token, scope: "another" })).toBe(false);
    expect(await host.discard({ token, scope: "s" })).toBe(true);
    expect(await host.discard({ token, scope: "s" })).toBe(false);
    const again = await host.resume({ token, tools, scope: "s" }).result;
    expect(again).toMatchObject({
      status: "failed",
      failure: { code: where === "store" ? "run_unknown" : "token_used" },
    });
    expect(await memory.list()).toEqual([]);
  });
});

test("giving up wants one name", async () => {
  await using host = createHost({ workers: 1 });
  await expect(host.discard({})).rejects.toThrow("give either its token or its id");
  expect(await host.discard({ id: "nobody's" })).toBe(false);
  expect(await host.discard({ token: "no token" })).toBe(false);
});
