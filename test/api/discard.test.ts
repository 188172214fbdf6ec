/** Suspended runs that the host discards. */
import { createHost, type ToolSet } from "codecell";
import { createMemoryStore, type Store, StoreError } from "codecell/store";
import { describe, expect, test } from "vitest";
import { instead, until } from "./store-doubles.ts";

const sealKey = new Uint8Array(32).fill(5);
const tools = {
  ask: {
    execute: (_input: unknown, call: { readonly resolution?: unknown; suspend(payload: null): never }) =>
      call.resolution ?? call.suspend(null),
  },
};

describe.each(["token", "store"])("a run that is suspended into a %s and discarded", (where) => {
  test("cannot be resumed, and leaves nothing [suspend:discard]", async () => {
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

test("discard takes either a token or an id", async () => {
  await using host = createHost({ workers: 1 });
  await expect(host.discard({})).rejects.toThrow("give either its token or its id");
  expect(await host.discard({ id: "nobody's" })).toBe(false);
  expect(await host.discard({ token: "no token" })).toBe(false);
});

test("discard does not report a failing store as a missing run", async () => {
  await using memory = createMemoryStore();
  let failing: "claim" | "delete" | undefined = "claim";
  const refuse = async (): Promise<never> => {
    throw new StoreError("full", "No");
  };
  const store = instead(memory, {
    claim: (...given) => (failing === "claim" ? refuse() : memory.claim(...given)),
    delete: (claim) => (failing === "delete" ? refuse() : memory.delete(claim)),
  });
  await using host = createHost({ workers: 1, sealKey, store, leaseMs: 20 });
  const { runId: id } = await host.start({ source: "return await tools.ask()", tools }).result;
  for (failing of ["claim", "delete"] as const) {
    await expect(host.discard({ id })).rejects.toMatchObject({ name: "StoreError" });
  }
  failing = undefined;
  // The host that could not delete the run held it for a moment.
  await until(() => host.discard({ id }));
  expect(await memory.list()).toEqual([]);
});

test("a run that goes on elsewhere is not discarded, and neither is one by the token of an earlier suspension [suspend:discard]", async () => {
  await using store = createMemoryStore();
  await using host = createHost({ workers: 1, sealKey, store });
  const started = Promise.withResolvers<void>();
  const slow = Promise.withResolvers<number>();
  const both: ToolSet = {
    ...tools,
    rows: { execute: () => "x".repeat(20_000) },
    slow: { execute: () => (started.resolve(), slow.promise) },
  };
  const source = "await tools.rows(); await tools.ask(); await tools.ask(); return await tools.slow()";
  const tokens: string[] = [];
  let result = await host.start({ source, tools: both }).result;
  for (;;) {
    if (result.status !== "suspended") throw new Error(JSON.stringify(result));
    const { token, pending } = result.suspension;
    tokens.push(token);
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: 1 } };
    const next = host.resume({ token, tools: both, resolutions }).result;
    if (tokens.length === 2) {
      await started.promise;
      for (const each of tokens) expect(await host.discard({ token: each })).toBe(false);
      slow.resolve(7);
      expect(await next).toMatchObject({ status: "completed", value: 7 });
      return;
    }
    result = await next;
    expect(await host.discard({ token })).toBe(false);
  }
});

test("a call that still executes does not bring the run back, and its executor leaves [suspend:discard]", async () => {
  await using memory = createMemoryStore();
  let executor = "";
  const posts: boolean[] = [];
  const store = instead(memory, {
    attend: (id, ms) => ((executor = id), memory.attend(id, ms)),
    post: async (...given) => {
      const isFirst = await memory.post(...given);
      posts.push(isFirst);
      return isFirst;
    },
  });
  await using host = createHost({ workers: 1, sealKey, store });
  const slow = Promise.withResolvers<number>();
  const both: ToolSet = { ...tools, slow: { execute: () => slow.promise } };
  const source = "return await Promise.all([tools.slow(), tools.ask()])";
  const { runId: id } = await host.start({ source, tools: both }).result;
  expect(await memory.attends(executor)).toBe(true);
  await using other = createHost({ workers: 1, sealKey, store: memory });
  expect(await other.discard({ id })).toBe(true);
  slow.resolve(1);
  await until(async () => !(await memory.attends(executor)));
  expect(posts).toEqual([false]);
  expect(await memory.outcomes(id)).toBeUndefined();
  expect(await memory.list()).toEqual([]);
});
