/** Errors of the host's own code: only the host sees them, as they were thrown. */
import { CodecellError, createHost, type HostError, type RunEvent, type ToolSet, unwrap } from "codecell";
import { createMemoryStore, type Store } from "codecell/store";
import { createAgentRuntime } from "codecell/surface";
import { describe, expect, test } from "vitest";
import { host } from "./harness.ts";

const SECRET = "pg://user:pw@db is down";
const context = { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" };

/** An error that only the host may see. */
const fault = new Error(SECRET, { cause: new Error(`${SECRET}, too`) });
const throwing = (): never => {
  throw fault;
};
const rejecting = async (): Promise<never> => {
  await Promise.resolve();
  throw fault;
};

/** A schema whose own code fails. */
const broken = (validate: () => never | Promise<never>) => ({
  "~standard": { version: 1 as const, vendor: "test", validate },
});

const CATCHING = `try { return await tools.pay({}) } catch (e) { return { ...e, name: e.name, message: e.message, stack: e.stack } }`;
const pay = { execute: () => "paid" };

describe.each([
  ["throws", throwing],
  ["rejects", rejecting],
])("code of the host that %s", (_how, fail) => {
  test.each<[string, Parameters<typeof host.start>[0], HostError["source"]]>([
    ["the policy", { source: CATCHING, tools: { pay }, authorize: fail }, "authorize"],
    ["an input's schema", { source: CATCHING, tools: { pay: { ...pay, input: broken(fail) } } }, "schema"],
    ["an output's schema", { source: CATCHING, tools: { pay: { ...pay, output: broken(fail) } } }, "schema"],
    [
      "the fetch of a policy",
      {
        source: `try { return await fetch("https://a.example/") } catch (e) { return [e.name, e.message, e.stack] }`,
        fetchPolicy: { allowedOrigins: ["https://a.example"], fetch: fail },
      },
      "fetch",
    ],
  ])("shows its error only to its host: %s [host:errors]", async (_what, options, source) => {
    const told: HostError[] = [];
    const handle = host.start({ ...options, onError: (report) => told.push(report) });
    const events = await Array.fromAsync(handle.events);
    const result = await handle.result;
    expect(result.status).toBe("completed");
    expect(JSON.stringify([result, events, handle.ledger()])).not.toContain("pw@db");
    expect(told).toMatchObject([{ error: fault, source, runId: handle.runId }]);
    expect(told[0]?.callId).toContain(handle.runId);
    const end = events.find((event) => event.type === "call-end");
    expect(end?.outcome).toHaveProperty("cause", fault);
  });

  test.each([
    ["an approval", { approve: fail }],
    ["a hook", { beforeToolCall: fail }],
  ])("of an agent shows its error only to its host: %s [host:errors]", async (_what, hooks) => {
    const told: HostError[] = [];
    await using own = createHost({ workers: 1, onError: (report) => told.push(report) });
    await using runtime = createAgentRuntime({ host: own });
    await using agent = runtime.prepareAgentRun({
      config: true,
      tools: { core: { pay } },
      context,
      ...hooks,
    });
    const results = [await agent.exec({ code: CATCHING }), await agent.exec({ code: "await tools.pay({})" })];
    expect(results.map(({ status }) => status)).toEqual(["completed", "failed"]);
    expect(JSON.stringify([results, await agent.trajectory(), agent.telemetry()])).not.toContain("pw@db");
    expect(told).toMatchObject(results.map(() => ({ error: fault, source: "authorize", tool: "pay" })));
  });
});

describe("what a tool threw", () => {
  const secret = Object.assign(new Error("Not now", { cause: new Error(SECRET) }), { dsn: SECRET });
  const tools: ToolSet = {
    fail: {
      execute: () => {
        throw secret;
      },
    },
    ask: { execute: (_input, { suspend, resolution }) => resolution ?? suspend("May I?") },
  };
  const source = "await tools.fail({}).catch(() => 0); await tools.ask({}); await tools.fail({})";

  test("is in events, in the result and in onError, with its stack and cause, and kept nowhere [host:errors]", async () => {
    const told: HostError[] = [];
    const written: unknown[] = [];
    const store = recording(createMemoryStore(), written);
    await using stored = createHost({ workers: 1, store, onError: (report) => told.push(report) });
    const first = stored.start({ source, tools });
    const suspended = await first.result;
    if (suspended.status !== "suspended") throw new Error(JSON.stringify(suspended));
    const { token, pending } = suspended.suspension;
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: "yes" } };
    const second = stored.resume({ token, tools, resolutions });
    const events: RunEvent[] = await Array.fromAsync(second.events);
    const result = await second.result;
    if (result.status !== "failed") throw new Error(JSON.stringify(result));
    expect(told).toMatchObject([
      { error: secret, source: "tool", runId: first.runId, tool: "fail" },
      { error: secret, source: "tool", runId: first.runId, tool: "fail" },
    ]);
    expect(told[0]?.error).toBe(secret);
    expect(result.cause).toBe(secret);
    expect(() => unwrap(result)).toThrow(CodecellError);
    expect(causeOf(() => unwrap(result))).toBe(secret);
    // Copies, clones and texts have no part of it.
    const everything = [result, events, first.ledger(), second.ledger(), suspended, { ...result }];
    const kept = Buffer.concat(written.map((bytes) => Buffer.from(bytes as Uint8Array))).toString("latin1");
    expect(JSON.stringify(structuredClone(everything)) + kept).not.toContain("pw@db");
    expect({ ...result }).not.toHaveProperty("cause");
  });

  test("is reported for a run with a token too, and the token has no part of it [host:errors]", async () => {
    const suspended = await host.start({ source, tools }).result;
    if (suspended.status !== "suspended") throw new Error(JSON.stringify(suspended));
    const decoded = Buffer.from(suspended.suspension.token, "base64url").toString("latin1");
    expect(suspended.suspension.token + decoded).not.toContain("pw@db");
  });

  test("a listener that fails changes nothing [host:errors]", async () => {
    for (const onError of [throwing, rejecting as () => void]) {
      const result = await host.start({
        source: "return await tools.fail({}).catch((e) => e.message)",
        tools,
        onError,
      }).result;
      expect(result).toMatchObject({ status: "completed", value: "Not now" });
    }
  });

  test("a run's own listener is called instead of its host's", async () => {
    const told: string[] = [];
    await using own = createHost({ workers: 1, onError: () => told.push("host") });
    const options = { source: "await tools.fail({})", tools };
    await own.start(options).result;
    await own.start({ ...options, onError: () => told.push("run") }).result;
    expect(told).toEqual(["host", "run"]);
  });
});

test("a tool that caught what suspend throws is reported [host:errors]", async () => {
  const told: HostError[] = [];
  const tools: ToolSet = {
    pay: {
      execute: (_input, { suspend }) => {
        try {
          return suspend("May I?");
        } catch {
          return "paid";
        }
      },
    },
  };
  const options = { source: "await tools.pay({})", tools, onError: (report: HostError) => told.push(report) };
  expect(await host.start(options).result).toMatchObject({ status: "suspended" });
  expect(String(told[0]?.error)).toContain('Tool "pay" caught what call.suspend throws');
});

test("an error in mapCallFailure is reported, and the failure stays [host:errors]", async () => {
  const told: HostError[] = [];
  const options = { source: CATCHING, tools: { pay: { execute: throwing } }, mapCallFailure: throwing };
  const result = await host.start({ ...options, onError: (report) => told.push(report) }).result;
  expect(result).toMatchObject({ status: "completed", value: { code: "tool_failed" } });
  expect(told.map(({ source }) => source)).toEqual(["tool", "mapCallFailure"]);
});

test("a tool that asks after its run has ended is not reported as a failing store [host:errors]", async () => {
  const told: HostError[] = [];
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const tools: ToolSet = {
    late: {
      execute: async (_input, { suspend }) => {
        begun.resolve();
        await end.promise;
        setImmediate(() => asked.resolve());
        return suspend("May I?");
      },
    },
  };
  await using store = createMemoryStore();
  await using stored = createHost({ workers: 1, store, onError: (report) => told.push(report) });
  const abort = new AbortController();
  const { result } = stored.start({ source: "await tools.late({})", tools, signal: abort.signal });
  await begun.promise;
  abort.abort();
  expect(await result).toMatchObject({ failure: { code: "aborted" } });
  end.resolve();
  await asked.promise;
  // What was asked would be written in a later turn.
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  expect(told).toEqual([]);
});

test("a failing store is reported, and the result has its error [host:errors]", async () => {
  const told: HostError[] = [];
  const { store, failed } = failing();
  failed.add("append");
  await using stored = createHost({ workers: 1, store, onError: (report) => told.push(report) });
  const result = await stored.start({ source: "return await tools.pay({})", tools: { pay } }).result;
  expect(result).toMatchObject({ status: "failed", failure: { code: "store_failed" } });
  expect(JSON.stringify(result)).not.toContain("pw@db");
  expect(told).toMatchObject([{ source: "store" }]);
  expect(result).toHaveProperty("cause", told[0]?.error);
});

describe("a store that fails", () => {
  const ask: ToolSet = {
    ask: { execute: (_input, { suspend, resolution }) => resolution ?? suspend("May I?") },
    // Ends when its run ends.
    hang: { execute: (_input, { signal }) => new Promise((end) => signal.addEventListener("abort", end)) },
  };
  const setUp = () => {
    const told: HostError[] = [];
    const { store, failed } = failing();
    return { told, failed, host: createHost({ workers: 1, store, onError: (report) => told.push(report) }) };
  };

  /** The error that was thrown first. */
  const rootOf = (error: unknown): unknown => (error === fault ? error : (error as Error | undefined)?.cause);

  test.each<[string, string, keyof Store]>([
    ["takes a suspended run", "await tools.ask({})", "release"],
    ["notes who executes its calls", "await Promise.race([tools.ask({}), tools.hang({})])", "attend"],
  ])("while it %s is reported, and the result has its error [host:errors]", async (_when, source, method) => {
    const { told, failed, host: stored } = setUp();
    await using _ = stored;
    failed.add(method);
    const handle = stored.start({ source, tools: ask });
    const result = await handle.result;
    expect(result).toMatchObject({ status: "failed", failure: { code: "store_failed" } });
    expect(JSON.stringify([result, handle.ledger()])).not.toContain("pw@db");
    expect(told).toMatchObject([{ source: "store", runId: handle.runId }]);
    expect(rootOf(told[0]?.error)).toBe(fault);
    expect(result).toHaveProperty("cause", told[0]?.error);
  });

  test("while a run is taken from it, or discarded, is reported [host:errors]", async () => {
    const { told, failed, host: stored } = setUp();
    await using _ = stored;
    const suspended = await stored.start({ source: "return await tools.ask({})", tools: ask }).result;
    if (suspended.status !== "suspended") throw new Error(JSON.stringify(suspended));
    const { token, pending } = suspended.suspension;
    const { runId } = suspended;
    failed.add("claim");
    for (const name of [{ token }, { id: runId }]) {
      const result = await stored.resume({ ...name, tools: ask }).result;
      expect(result).toMatchObject({ status: "failed", failure: { code: "store_failed" } });
      expect(JSON.stringify(result)).not.toContain("pw@db");
      expect(result).toHaveProperty("cause", fault);
      const error: unknown = await stored.discard(name).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ name: "StoreError", code: "unavailable", cause: fault });
      expect(told).toMatchObject([
        { source: "store", runId, error: fault },
        { source: "store", runId, error },
      ]);
      told.length = 0;
    }
    // After all these failures the run is still as it was.
    failed.clear();
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: "yes" } };
    expect(await stored.resume({ token, tools: ask, resolutions }).result).toMatchObject({ value: "yes" });
    expect(told).toEqual([]);
  });

  test("to forget an ended run is reported, and the result stays [host:errors]", async () => {
    const { told, failed, host: stored } = setUp();
    await using _ = stored;
    failed.add("delete");
    const handle = stored.start({ source: "return 1" });
    expect(await handle.result).toMatchObject({ status: "completed", value: 1 });
    expect(told).toMatchObject([{ source: "store", runId: handle.runId }]);
    expect(rootOf(told[0]?.error)).toBe(fault);
  });
});

/** A store whose methods fail while they are in the set. */
function failing(): { readonly store: Store; readonly failed: Set<unknown> } {
  const failed = new Set<unknown>();
  const store = new Proxy(createMemoryStore(), {
    get: (target, key) => {
      if (failed.has(key)) return rejecting;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  return { store, failed };
}

function causeOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return (error as Error).cause;
  }
  return undefined;
}

/** A store that records all bytes given to it. */
function recording(store: Store, written: unknown[]): Store {
  const note = (value: unknown, depth = 0): void => {
    if (value instanceof Uint8Array) written.push(value);
    else if (typeof value === "string") written.push(Buffer.from(value));
    else if (typeof value === "object" && value !== null && depth < 6) {
      for (const part of Object.values(value)) note(part, depth + 1);
    }
  };
  return new Proxy(store, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        note(args);
        return (value as (...given: unknown[]) => unknown).apply(target, args);
      };
    },
  });
}
