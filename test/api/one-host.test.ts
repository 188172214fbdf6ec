/** One host for all entry points: what it is given once holds in `run`, in `codecell/ai` and in `codecell/surface`. */
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { tool } from "ai";
import { type CallContext, createHost, defineTool, type Host, run } from "codecell";
import {
  type CodeModeInterrupt,
  continueCodeModeInterrupt,
  createExecWaitTools,
  requestCodeModeInterrupt,
  runCodeMode,
  setCodeModeContinuationSigningKey,
} from "codecell/ai";
import { createMemoryStore } from "codecell/store";
import { createAgentRuntime } from "codecell/surface";
import { createInProcessSandbox } from "codecell/testing";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { defaultHost } from "../../packages/codecell/src/run/host/default-host.ts";
import { openSandbox } from "../../packages/codecell/src/run/host/open-sandbox.ts";
import { liveWorkers } from "../property/worker-threads.ts";

const context = { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" };
const echo = {
  core: { echo: defineTool({ description: "Gives back", execute: (input: unknown) => input }) },
};

async function executed(host: Host | undefined, code: string): Promise<unknown> {
  await using runtime = createAgentRuntime(host === undefined ? {} : { host });
  await using agent = runtime.prepareAgentRun({ config: true, tools: echo, context });
  return await agent.exec({ code });
}

const asking = {
  ask: tool({
    inputSchema: z.object({}),
    execute: (_input, options) => {
      const { codeModeInterrupt } = options as { codeModeInterrupt?: { resolution: unknown } };
      return codeModeInterrupt === undefined
        ? requestCodeModeInterrupt({ kind: "ask" })
        : codeModeInterrupt.resolution;
    },
  }),
};

test("run, codecell/ai with a store or without, and codecell/surface share the threads of the process [host:one]", async () => {
  const cores = availableParallelism();
  const many = Array.from({ length: 2 * cores }, () => run({ source: "return 1" }));
  expect(await Promise.all(many)).toMatchObject(many.map(() => ({ value: 1 })));
  const before = liveWorkers().length;
  expect(before).toBeGreaterThan(0);
  const js = "return 1";
  expect(await runCodeMode({ js, tools: {} })).toBe(1);
  expect(
    await runCodeMode({ js, tools: {}, options: { continuation: { store: createMemoryStore() } } }),
  ).toBe(1);
  expect(await executed(undefined, js)).toMatchObject({ status: "completed" });
  expect(liveWorkers().length).toBeLessThanOrEqual(Math.max(before, cores));
});

test("run, codecell/ai and codecell/surface share the process's own host, unless a store or a key asks for another one [host:one]", async () => {
  const start = vi.spyOn(defaultHost(), "start");
  const startsThere = async (work: () => Promise<unknown>): Promise<boolean> => {
    start.mockClear();
    await work();
    return start.mock.calls.length === 1;
  };
  const js = "return 1";
  const plainly = (): Promise<unknown> => runCodeMode({ js, tools: {} });
  const stored = { continuation: { store: createMemoryStore() } };
  try {
    expect(await startsThere(() => run({ source: js }))).toBe(true);
    expect(await startsThere(() => executed(undefined, js))).toBe(true);
    expect(await startsThere(plainly)).toBe(true);
    expect(await startsThere(() => runCodeMode({ js, tools: {}, options: stored }))).toBe(false);
    // How long continuations last is said to each run.
    setCodeModeContinuationSigningKey(undefined, { maxAgeMs: 120_000 });
    expect(await startsThere(plainly)).toBe(true);
    setCodeModeContinuationSigningKey("a secret of at least sixteen bytes");
    expect(await startsThere(plainly)).toBe(false);
    setCodeModeContinuationSigningKey();
    // Changing the key ended the host of the key, and not this one.
    expect(await startsThere(plainly)).toBe(true);
    expect(await run({ source: js })).toMatchObject({ value: 1 });
  } finally {
    setCodeModeContinuationSigningKey();
    start.mockRestore();
  }
});

test("an interrupt of the process's own host is continued while its key is the one in use [host:one]", async () => {
  const interrupt = (await runCodeMode({
    js: "return await tools.ask({})",
    tools: asking,
  })) as CodeModeInterrupt;
  const going = { interrupt, resolution: "yes", tools: asking };
  try {
    setCodeModeContinuationSigningKey("a secret of at least sixteen bytes");
    await expect(continueCodeModeInterrupt(going)).rejects.toThrow(/a key this process does not have/u);
  } finally {
    setCodeModeContinuationSigningKey();
  }
  expect(await continueCodeModeInterrupt(going)).toBe("yes");
});

test("a limit that a host was given holds in codecell/ai and in codecell/surface too [host:one]", async () => {
  await using host = createHost({ workers: 1, limits: { ledgerSize: 2000 } });
  const js =
    "return (await Promise.all(Array.from({ length: 30 }, () => tools.echo('x'.repeat(99))))).length";
  const tools = { echo: tool({ inputSchema: z.string(), execute: (input) => input }) };
  expect(await runCodeMode({ js, tools })).toBe(30);
  await expect(runCodeMode({ js, tools, options: { host } })).rejects.toThrow(/2000/);
  expect(await executed(undefined, js)).toMatchObject({ status: "completed" });
  expect(await executed(host, js)).toMatchObject({ status: "failed" });
});

test("limits of a host hold in codecell/ai if its policy sets none [host:one]", async () => {
  await using host = createHost({ workers: 1, limits: { calls: 3 } });
  const js = "for (let i = 0; i < 10; i++) await tools.echo('x'); return 1";
  const tools = { echo: tool({ inputSchema: z.string(), execute: (input) => input }) };
  await expect(runCodeMode({ js, tools, options: { host } })).rejects.toThrow(/3/);
  const executionPolicy = { maxBridgeRequests: 20 };
  expect(await runCodeMode({ js, tools, options: { host, executionPolicy } })).toBe(1);
});

test("a default of code mode widens no limit of its host, and what its configuration sets counts [host:one]", async () => {
  await using host = createHost({ workers: 1, limits: { resultBytes: 100, callOutputBytes: 100 } });
  const exec = async (config: unknown, code: string): Promise<unknown> => {
    const tools = { echo: tool({ inputSchema: z.string(), execute: (input) => input }) };
    await using made = createExecWaitTools(tools, { host, context, config });
    return await made.run.exec({ code });
  };
  const large = "return 'x'.repeat(1000)";
  expect(await executed(host, large)).toMatchObject({ status: "failed" });
  expect(await exec(true, large)).toMatchObject({ status: "failed" });
  expect(await exec({ enabled: true, maxOutputBytes: 65_536 }, large)).toMatchObject({ status: "completed" });
  // What follows from no setting is the host's, whatever else is set.
  const echoes = "return (await tools.echo('x'.repeat(1000))).length";
  expect(await exec({ enabled: true, maxOutputBytes: 65_536 }, echoes)).toMatchObject({ status: "failed" });
  expect(host.limits).toEqual({ resultBytes: 100, callOutputBytes: 100 });
});

test("a program of exec waits no longer than its host keeps it [host:one]", async () => {
  await using host = createHost({ workers: 1, limits: { suspensionTimeMs: 1000 } });
  const waits = async (config: unknown): Promise<unknown> => {
    await using runtime = createAgentRuntime({ host });
    await using agent = runtime.prepareAgentRun({ config, tools: echo, context });
    const waiting = await agent.exec({ code: "await yield_control(); return 1" });
    if (waiting.status !== "waiting") throw new Error("It was to wait");
    await sleep(1500);
    return await agent.wait({ runId: waiting.runId });
  };
  const [byDefault, asSet] = await Promise.all([
    waits(true),
    waits({ enabled: true, snapshotTtlSeconds: 60 }),
  ]);
  expect(byDefault).toMatchObject({ status: "failed", code: "snapshot_expired" });
  expect(asSet).toMatchObject({ status: "completed" });
});

test("an interrupt of codecell/ai can be continued as long as its host says [host:one]", async () => {
  await using host = createHost({ workers: 1, limits: { suspensionTimeMs: 60_000 } });
  const leftOf = async (options: { host?: Host }): Promise<number> => {
    const js = "return await tools.ask({})";
    const interrupt = (await runCodeMode({ js, tools: asking, options })) as CodeModeInterrupt;
    return interrupt.continuation.expiresAtMs - Date.now();
  };
  expect(await leftOf({ host })).toBeLessThanOrEqual(60_000);
  expect(await leftOf({})).toBeGreaterThan(3_500_000);
  // Whoever says how long in codecell/ai itself is heard.
  setCodeModeContinuationSigningKey(undefined, { maxAgeMs: 120_000 });
  try {
    expect(await leftOf({ host })).toBeGreaterThan(100_000);
  } finally {
    setCodeModeContinuationSigningKey();
  }
});

test("time that a policy of codecell/ai gives is no processor time that its host does not [host:one]", async () => {
  await using host = createHost({ workers: 1, limits: { cpuTimeMs: 50 } });
  const options = { host, executionPolicy: { timeoutMs: 60_000 } };
  await expect(runCodeMode({ js: "for (;;);", tools: {}, options })).rejects.toThrow(/50 ms/);
});

test("exec and wait over tools of the AI SDK use the host that they are given, and not two [host:one]", async () => {
  await using host = createHost({ workers: 1, limits: { ledgerSize: 2000 } });
  const tools = { echo: tool({ inputSchema: z.string(), execute: (input) => input }) };
  await using made = createExecWaitTools(tools, { host, context });
  const code =
    "return (await Promise.all(Array.from({ length: 30 }, () => tools.echo('x'.repeat(99))))).length";
  expect(await made.run.exec({ code })).toMatchObject({ status: "failed" });
  await using runtime = createAgentRuntime();
  expect(() => createExecWaitTools(tools, { host, runtime, context })).toThrow(
    /give the host to the runtime/,
  );
  expect(() => createExecWaitTools(tools, { host: {} as never, context })).toThrow(/createHost/);
});

test("a token of a stored run is encrypted if the run asks for it [suspend:encrypted]", async () => {
  await using host = createHost({ workers: 1, store: createMemoryStore() });
  const ask = { source: "return await tools.ask()", scope: "tenant-secret" };
  const tools = { ask: { execute: (_input: unknown, { suspend }: CallContext) => suspend(null) } };
  const tokenOf = async (encrypt: boolean): Promise<string> => {
    const result = await host.start({ ...ask, tools, encrypt }).result;
    if (result.status !== "suspended") throw new Error("It was to wait");
    return Buffer.from(result.suspension.token.slice(4), "base64url").toString("latin1");
  };
  expect(await tokenOf(false)).toContain("tenant-secret");
  expect(await tokenOf(true)).not.toContain("tenant-secret");
});

test("a program of codecell/ai is kept by the store of its host, and no other host goes on with it [host:one]", async () => {
  await using store = createMemoryStore();
  await using host = createHost({ workers: 1, store });
  const options = { host };
  const js = "return await tools.ask({})";
  const interrupt = (await runCodeMode({ js, tools: asking, options })) as CodeModeInterrupt;
  expect(await store.list({})).toHaveLength(1);
  const going = { interrupt, resolution: "yes", tools: asking };
  await expect(continueCodeModeInterrupt(going)).rejects.toThrow();
  expect(await continueCodeModeInterrupt({ ...going, options })).toBe("yes");
});

test("a host together with a store is refused, and so is a value that is not a host [host:one]", async () => {
  await using host = createHost({ workers: 1 });
  const given = { js: "return 1", tools: {} };
  const both = { host, continuation: { store: createMemoryStore() } };
  await expect(runCodeMode({ ...given, options: both })).rejects.toThrow(/give the store to the host/);
  await expect(runCodeMode({ ...given, options: { host: {} as never } })).rejects.toThrow(/createHost/);
});

test("hosts that share a sandbox end neither it nor each other's runs [host:one]", async () => {
  await using sandbox = openSandbox({ workers: 1 });
  const going = Promise.withResolvers<string>();
  await using first = createHost({ sandbox });
  const { result } = first.start({
    source: "return await tools.wait()",
    tools: { wait: { execute: () => going.promise } },
  });
  await createHost({ sandbox })[Symbol.asyncDispose]();
  going.resolve("still here");
  expect(await result).toMatchObject({ value: "still here" });
  expect(() => createHost({ sandbox, workers: 1 })).toThrow(/make the sandbox with it/);
  expect(() => createHost({ sandbox: {} as never })).toThrow(/place\(\)/);
});

test("a host runs programs in another sandbox [host:one]", async () => {
  await using sandbox = createInProcessSandbox();
  await using host = createHost({ sandbox });
  const tools = {
    ask: { execute: (_input: unknown, call: CallContext) => call.resolution ?? call.suspend("may I?") },
  };
  const source = "console.log('asks'); return [await tools.ask({ a: 1 }), await tools.ask({ a: 2 })]";
  const waiting = await host.start({ source, tools }).result;
  if (waiting.status !== "suspended") throw new Error("It was to wait");
  const { token, pending } = waiting.suspension;
  const again = await host.resume({
    token,
    tools,
    resolutions: { [pending[0]?.callId ?? ""]: { resolution: "yes" } },
  }).result;
  if (again.status !== "suspended") throw new Error("It was to wait again");
  const resolutions = { [again.suspension.pending[0]?.callId ?? ""]: { resolution: "well" } };
  const done = host.resume({ token: again.suspension.token, tools, resolutions });
  expect(await done.result).toMatchObject({ status: "completed", value: ["yes", "well"] });
  expect(await host.replay(done.ledger()).result).toMatchObject({ value: ["yes", "well"] });
});

test.each([
  ["encrypted", { encrypt: true }, false],
  ["as the host makes them", {}, true],
])("tokens of a run may be %s [suspend:encrypted]", async (_how, how, isReadable) => {
  await using host = createHost({ workers: 1 });
  const suspended = await host.start({
    source: "/* in the open */ return await tools.ask()",
    tools: { ask: { execute: (_input, { suspend }) => suspend(null) } },
    ...how,
  }).result;
  if (suspended.status !== "suspended") throw new Error("It was to wait");
  const { token } = suspended.suspension;
  expect(Buffer.from(token, "base64url").includes("in the open")).toBe(isReadable);
  const tools = { ask: { execute: () => "answered" } };
  const [call] = suspended.suspension.pending;
  const resolutions = { [call?.callId ?? ""]: { resolution: null } };
  expect(await host.resume({ token, tools, resolutions }).result).toMatchObject({ value: "answered" });
});
