/** Runs that are resumed by a host without the tools for which their calls wait. */
import { createHost, type FetchPolicy, type Host, type RunResult, type ToolSet } from "codecell";
import { createMemoryStore, type Store } from "codecell/store";
import { describe, expect, test } from "vitest";
import { mortal, until, untilClaimable } from "./store-doubles.ts";
import { suspensionOf } from "./suspension-of.ts";

const sealKey = new Uint8Array(32).fill(7);

const ask: ToolSet[string] = {
  execute: (_input, call) => call.resolution ?? call.suspend("may I?"),
};
const never: ToolSet[string] = { execute: () => new Promise(() => {}) };

const PAY = "return await tools.pay({ amount: 1 })";

const missing = (...tools: string[]): object => ({
  status: "failed",
  failure: {
    code: "tool_missing",
    message: expect.stringMatching(
      new RegExp(
        `^Cannot resume: .*${tools.map((name) => `tool "${name}"`).join(", ")}; resume it with these tools, `,
        "u",
      ),
    ),
    details: { tools },
  },
});

function open(options: Parameters<typeof createHost>[0] = {}): Host {
  return createHost({ workers: 1, sealKey, ...options });
}

/** A host whose worker has started, so that a run with little time reaches its calls. */
async function openWarm(): Promise<Host> {
  const host = open();
  await host.start({ source: "return 1" }).result;
  return host;
}

describe("a run whose call waits for a tool that the host lacks [suspend:tools]", () => {
  test("is refused by its token, which still works on a host that has the tool", async () => {
    await using host = open();
    const { token, pending } = suspensionOf(await host.start({ source: PAY, tools: { pay: ask } }).result);
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: "yes" } };
    for (const tools of [{}, { payNow: ask }]) {
      const { result } = host.resume({ token, resolutions, tools });
      expect(await result).toMatchObject(missing("pay"));
    }
    expect(await host.resume({ token, resolutions, tools: { pay: ask } }).result).toMatchObject({
      status: "completed",
      value: "yes",
    });
  });

  test("is refused by its id, and stays in the store for others", async () => {
    await using store = createMemoryStore();
    await using host = open({ store });
    const { runId: id, ...rest } = await host.start({ source: PAY, tools: { pay: ask } }).result;
    const { token, pending } = suspensionOf({ runId: id, ...rest });
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: "yes" } };
    for (const name of [{ id }, { token }]) {
      const { result, events } = host.resume({ ...name, resolutions, tools: {} });
      expect(await result).toMatchObject({ runId: id, ...missing("pay") });
      const told = await Array.fromAsync(events);
      expect(told.map(({ type }) => type)).toEqual(["run-start", "run-end"]);
      expect(await store.list({ claimable: true })).toMatchObject([{ id }]);
    }
    expect(await host.resume({ token, resolutions, tools: { pay: ask } }).result).toMatchObject({
      status: "completed",
      value: "yes",
    });
  });

  test("is refused while the call is undecided, but not if the call is denied, since then no tool is called", async () => {
    await using host = open();
    const source = "return await tools.pay({}).catch((error) => error.code)";
    const { token, pending } = suspensionOf(await host.start({ source, tools: { pay: ask } }).result);
    expect(await host.resume({ token, tools: {} }).result).toMatchObject(missing("pay"));
    const resolutions = { [pending[0]?.callId ?? ""]: { deny: "no" } };
    expect(await host.resume({ token, resolutions, tools: {} }).result).toMatchObject({
      status: "completed",
      value: "denied",
    });
  });

  test("names each missing tool once, and can be discarded without it", async () => {
    await using host = open();
    const source = "return await Promise.all([tools.a(1), tools.b(2), tools.a(3)])";
    const { token } = suspensionOf(await host.start({ source, tools: { a: ask, b: ask } }).result);
    expect(await host.resume({ token, tools: {} }).result).toMatchObject(missing("a", "b"));
    expect(await host.discard({ token })).toBe(true);
  });

  test("is refused too if the name is only inherited", async () => {
    await using host = open();
    const tools = { toString: ask };
    const source = "return await tools.toString(1)";
    const { token } = suspensionOf(await host.start({ source, tools }).result);
    expect(await host.resume({ token, tools: {} }).result).toMatchObject(missing("toString"));
  });

  test("is refused too if the tool has the name of a call of a feature that the program lacks", async () => {
    await using host = open();
    const tools = { "globalThis.fetch": ask };
    const source = "return await tools['globalThis.fetch']({})";
    const { token, pending } = suspensionOf(await host.start({ source, tools }).result);
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: "yes" } };
    for (const fetchPolicy of [undefined, { allowedOrigins: ["https://a.example"] }]) {
      const { result } = host.resume({ token, resolutions, ...(fetchPolicy && { fetchPolicy }) });
      expect(await result).toMatchObject(missing("globalThis.fetch"));
    }
    expect(await host.resume({ token, resolutions, tools }).result).toMatchObject({ value: "yes" });
  });

  test("is left alone by a host that recovers it after a crash, and goes on elsewhere", async () => {
    await using store = createMemoryStore();
    const { store: dying, die } = mortal(store);
    const first = open({ store: dying, leaseMs: 50 });
    let begun = 0;
    const look: ToolSet[string] = { readOnly: true, execute: () => (begun++, new Promise(() => {})) };
    const source = "return await Promise.all([tools.look({}), tools.pay({}).catch((error) => error.code)])";
    const { runId: id } = first.start({ source, tools: { look, pay: { execute: look.execute } } });
    await until(() => begun === 2);
    die();
    await untilClaimable(store);
    await using lacking = open({ store });
    expect(await lacking.resume({ id, tools: {} }).result).toMatchObject(missing("look", "pay"));
    expect(await lacking.resume({ id, tools: { pay: never } }).result).toMatchObject(missing("look"));
    const tools: ToolSet = { look: { readOnly: true, execute: () => "seen" }, pay: never };
    // One call is made again; nobody knows the outcome of the other.
    expect(await lacking.resume({ id, tools }).result).toMatchObject({
      status: "completed",
      value: ["seen", "outcome_unknown"],
    });
  });

  test("is refused too while the call still waits for its turn", async () => {
    await using host = await openWarm();
    const source = "return await Promise.all([1, 2, 3].map((n) => tools.wait(n)))";
    const limits = { callsInFlight: 1, wallTimeMs: 500 };
    const gate = Promise.withResolvers<string>();
    const wait: ToolSet[string] = { execute: () => gate.promise };
    const { token } = suspensionOf(
      await host.start({ source, tools: { wait }, limits, atDeadline: "suspend" }).result,
    );
    gate.resolve("through");
    expect(await host.resume({ token, tools: {} }).result).toMatchObject(missing("wait"));
    expect(await host.resume({ token, tools: { wait } }).result).toMatchObject({
      status: "completed",
      value: ["through", "through", "through"],
    });
  });

  test("needs no tool any more once its call has an outcome", async () => {
    await using host = await openWarm();
    const gate = Promise.withResolvers<string>();
    const wait: ToolSet[string] = { execute: () => gate.promise };
    const limits = { wallTimeMs: 500 };
    const source = "return await tools.wait({})";
    const { token } = suspensionOf(
      await host.start({ source, tools: { wait }, limits, atDeadline: "suspend" }).result,
    );
    expect(await host.resume({ token, tools: {} }).result).toMatchObject(missing("wait"));
    gate.resolve("through");
    let result: RunResult | undefined;
    // Repeat until the host has noticed; a refusal changes nothing.
    await until(async () => {
      result = await host.resume({ token, tools: {} }).result;
      return result.status !== "failed" || result.failure.code !== "tool_missing";
    });
    expect(result).toMatchObject({ status: "completed", value: "through" });
  });
});

describe("a call of a tool that never existed", () => {
  const names = ["frist", "globalThis.fetch"];
  const writes = [1, 2, 3, 4, 5];
  test.each(names.flatMap((name) => writes.map((last) => [name, last] as const)))(
    "does not prevent its run from being resumed: %s, after a crash after write %i",
    async (name, last) => {
      await using store = createMemoryStore();
      const { store: dying, die } = mortal(store);
      const death = Promise.withResolvers<void>();
      let appends = 0;
      const append: Store["append"] = async (claim, entries) => {
        await dying.append(claim, entries);
        if (++appends < last) return;
        die();
        death.resolve();
        await new Promise(() => {});
      };
      const first = open({ leaseMs: 50, store: { ...dying, append } });
      const tools = { first: { idempotent: true, execute: () => 1 } };
      const source = `await tools.first({}); return await tools["${name}"]({}).catch((error) => error.code)`;
      const { runId: id, result } = first.start({ source, tools });
      // The run may make fewer writes.
      await Promise.race([death.promise, result]);
      if (appends < last) return;
      await untilClaimable(store);
      await using second = open({ store });
      expect(await second.resume({ id, tools }).result).toMatchObject({ value: "unknown_tool" });
    },
  );

  test("that the program makes after a resume fails as it does in a new run", async () => {
    await using host = open();
    const source =
      "await tools.pay({}); return await tools.later({}).catch(({ code, message }) => [code, message])";
    const tools = { pay: ask, later: { execute: () => 1 } };
    const { token, pending } = suspensionOf(await host.start({ source, tools }).result);
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: "yes" } };
    expect(await host.resume({ token, resolutions, tools: { pay: ask } }).result).toMatchObject({
      status: "completed",
      value: ["unknown_tool", expect.stringContaining('"later"')],
    });
  });
});

test("a run whose fetch has to be made again waits for a host with a fetch policy [suspend:tools]", async () => {
  await using store = createMemoryStore();
  const policy = (fetch: FetchPolicy["fetch"]): FetchPolicy => ({
    allowedOrigins: ["https://a.example"],
    ...(fetch === undefined ? {} : { fetch }),
  });
  let isAsked = false;
  const one = open({ store });
  const source = `return (await fetch("https://a.example/")).status`;
  const { runId: id } = one.start({
    source,
    fetchPolicy: policy(() => ((isAsked = true), new Promise(() => {}))),
  });
  await until(() => isAsked);
  await one[Symbol.asyncDispose]();
  await using other = open({ store });
  expect(await other.resume({ id }).result).toMatchObject({
    status: "failed",
    failure: { code: "tool_missing", message: expect.stringContaining("fetchPolicy") },
  });
  const fetchPolicy = policy(async () => new Response("x", { status: 203 }));
  expect(await other.resume({ id, fetchPolicy }).result).toMatchObject({ status: "completed", value: 203 });
});
