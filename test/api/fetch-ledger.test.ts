/** Fetches in the ledger: replayed, suspended and resumed, forked, checked. */
import { createHost, type FetchPolicy, type HostError, type ToolSet } from "codecell";
import { createChecker } from "codecell/check";
import { createMemoryStore } from "codecell/store";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { FETCH_TOOL } from "../../packages/codecell/src/contract/features.ts";
import { host } from "./harness.ts";
import { suspensionOf } from "./suspension-of.ts";
import { startServer, type WebServer } from "./web-server.ts";

const sealKey = new Uint8Array(32).fill(9);

let server: WebServer;
let fetchPolicy: FetchPolicy;

beforeAll(async () => {
  let count = 0;
  server = await startServer({ "/count": (response) => response.end(Buffer.from([0xff, ++count])) });
  fetchPolicy = { allowedOrigins: [server.origin] };
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => void server.seen.splice(0));

const asking: ToolSet = { ask: { execute: (_input, call) => call.resolution ?? call.suspend("?") } };

/** Fetches, asks, and fetches again. */
function program(): string {
  return `
    const read = async () => (await (await fetch("${server.origin}/count")).bytes())[1];
    const first = await read();
    const said = await tools.ask();
    const second = await read().catch((error) => [error.code, error.message]);
    return { first, said, second, same: typeof fetch };`;
}

describe("a recorded run", () => {
  test("is replayed without a request [fetch:replay]", async () => {
    const source = `const response = await fetch("${server.origin}/count"); return [response.status, (await response.bytes())[1]]`;
    const original = host.start({ source, fetchPolicy });
    const result = await original.result;
    const ledger = original.ledger();
    expect(ledger).toMatchObject({ features: { fetch: true }, calls: [{ tool: FETCH_TOOL }] });
    expect(server.seen).toHaveLength(1);
    expect(await host.replay(JSON.parse(JSON.stringify(ledger))).result).toMatchObject({
      status: "completed",
      value: result.status === "completed" ? result.value : undefined,
    });
    expect(server.seen).toHaveLength(1);
  });

  test("without fetch has no fetch in its replay either", async () => {
    const original = host.start({ source: "return typeof fetch" });
    await original.result;
    expect(original.ledger().features).not.toHaveProperty("fetch");
    const { value } = (await host.replay({ ...original.ledger(), features: { fetch: true } }).result) as {
      value?: unknown;
    };
    expect(value).toBe("function");
    expect(() => host.replay({ ...original.ledger(), features: { fetch: "yes" as never } })).toThrow(
      "this is not a ledger",
    );
  });

  test("is forked with the policy of the fork", async () => {
    const source = `return (await (await fetch("${server.origin}/count")).bytes())[0]`;
    const original = host.start({ source, fetchPolicy });
    await original.result;
    const output = { url: "", status: 200, statusText: "", redirected: false, headers: {}, body: "A" };
    const told = host.fork(original.ledger(), { atCall: 0, outcome: { output } });
    expect(await told.result).toMatchObject({ status: "completed", value: 65 });
    expect(server.seen).toHaveLength(1);
    const again = host.fork(original.ledger(), { atCall: 0, fetchPolicy });
    expect(await again.result).toMatchObject({ status: "completed", value: 255 });
    expect(server.seen).toHaveLength(2);
    const without = await host.fork(original.ledger(), { atCall: 0 }).result;
    expect(without).toMatchObject({ failure: { details: { call: { code: "fetch_failed" } } } });
    expect(server.seen).toHaveLength(2);
  });
});

describe("a suspended run", () => {
  test("goes on with what it fetched before, and fetches under the new policy [fetch:resume]", async () => {
    await using one = createHost({ workers: 1, sealKey });
    const { token, pending } = suspensionOf(
      await one.start({ source: program(), tools: asking, fetchPolicy }).result,
    );
    expect(server.seen).toHaveLength(1);
    await using other = createHost({ workers: 1, sealKey });
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: "yes" } };
    const result = await other.resume({ token, resolutions, tools: asking, fetchPolicy }).result;
    expect(result).toMatchObject({ status: "completed", value: { said: "yes", same: "function" } });
    const { first, second } = (result as unknown as { value: { first: number; second: number } }).value;
    expect(second).toBe(first + 1);
    expect(server.seen).toHaveLength(2);
  });

  test("that is resumed without a policy gets a failure that says to give one [fetch:resume]", async () => {
    const { token, pending } = suspensionOf(
      await host.start({ source: program(), tools: asking, fetchPolicy }).result,
    );
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: "yes" } };
    expect(await host.resume({ token, resolutions, tools: asking }).result).toMatchObject({
      status: "completed",
      value: {
        second: ["fetch_failed", expect.stringContaining("resume or fork it with fetchPolicy")],
        same: "function",
      },
    });
    expect(server.seen).toHaveLength(1);
  });

  test("that is resumed under a stricter policy is bound by it", async () => {
    const { token, pending } = suspensionOf(
      await host.start({ source: program(), tools: asking, fetchPolicy }).result,
    );
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: "yes" } };
    expect(await host.resume({ token, resolutions, tools: asking, fetchPolicy: {} }).result).toMatchObject({
      value: { second: ["fetch_failed", expect.stringContaining("Nothing is allowed")] },
    });
  });

  test("without fetch does not get it by being resumed with a policy", async () => {
    const source = "await tools.ask(); return typeof fetch";
    const { token, pending } = suspensionOf(await host.start({ source, tools: asking }).result);
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: "yes" } };
    expect(await host.resume({ token, resolutions, tools: asking, fetchPolicy }).result).toMatchObject({
      value: "undefined",
    });
  });

  test("is kept by a store with its fetches [fetch:resume]", async () => {
    const store = createMemoryStore();
    await using one = createHost({ workers: 1, store });
    const { runId: id, ...rest } = await one.start({ source: program(), tools: asking, fetchPolicy }).result;
    const { pending } = suspensionOf({ runId: id, ...rest });
    await using other = createHost({ workers: 1, store });
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: "yes" } };
    const result = await other.resume({ id, resolutions, tools: asking, fetchPolicy }).result;
    expect(result).toMatchObject({ status: "completed", value: { said: "yes", same: "function" } });
    expect(server.seen).toHaveLength(2);
  });
});

test("a fetch whose process ended is made again if it is safe, and otherwise its outcome is unknown [fetch:resume]", async () => {
  const store = createMemoryStore();
  const source = `
    const told = (promise) => promise.then((response) => response.status, (error) => error.code);
    return await Promise.all([told(fetch("https://a.example/")), told(fetch("https://a.example/", { method: "POST" }))]);`;
  const asked: unknown[] = [];
  const policy = (answer: () => Promise<Response>): FetchPolicy => ({
    allowedOrigins: ["https://a.example"],
    allowedMethods: ["GET", "POST"],
    fetch: (_url, init) => {
      asked.push(init?.method);
      return answer();
    },
  });
  const one = createHost({ workers: 1, store });
  const handle = one.start({ source, fetchPolicy: policy(() => new Promise(() => {})) });
  while (asked.length < 2) await new Promise(setImmediate);
  await one[Symbol.asyncDispose]();
  await using other = createHost({ workers: 1, store });
  const answering = policy(async () => new Response("x", { status: 203 }));
  const result = await other.resume({ id: handle.runId, fetchPolicy: answering }).result;
  expect(result).toMatchObject({ status: "completed", value: [203, "outcome_unknown"] });
  expect(asked).toEqual(["GET", "POST", "GET"]);
});

describe("misuse", () => {
  const bad = { allowedOrigins: ["nonsense"] };
  const reserved: ToolSet = { [FETCH_TOOL]: { execute: () => 1 } };

  test("a policy that makes no sense throws wherever it is given", async () => {
    expect(() => host.start({ source: "", fetchPolicy: bad })).toThrow('allowedOrigins has "nonsense"');
    expect(() => host.start({ source: "", fetchPolicy: null as never })).toThrow("it must be an object");
    const first = host.start({ source: program(), tools: asking, fetchPolicy });
    const { token } = suspensionOf(await first.result);
    expect(() => host.resume({ token, tools: asking, fetchPolicy: bad })).toThrow(
      'allowedOrigins has "nonsense"',
    );
    expect(() => host.fork(first.ledger(), { atCall: 0, fetchPolicy: bad })).toThrow("nonsense");
    // The refused resume did not use up the token.
    expect(await host.resume({ token, tools: asking, fetchPolicy }).result).toMatchObject({
      status: "suspended",
    });
  });

  test("no tool has the name under which fetches are recorded, in a run with fetch", async () => {
    expect(() => host.start({ source: "", tools: reserved, fetchPolicy })).toThrow("its program has fetch");
    const source = `return await tools["${FETCH_TOOL}"]()`;
    expect(await host.start({ source, tools: reserved }).result).toMatchObject({ value: 1 });
    const unusable: ToolSet = { [FETCH_TOOL]: { execute: () => 1n } };
    expect(await host.start({ source, tools: unusable }).result).toMatchObject({
      failure: { message: expect.stringContaining(`Tool "${FETCH_TOOL}" gave an output that is not JSON`) },
    });
    const { token } = suspensionOf(
      await host.start({ source: program(), tools: asking, fetchPolicy }).result,
    );
    expect(await host.resume({ token, tools: { ...asking, ...reserved } }).result).toMatchObject({
      failure: { code: "resume_invalid", message: expect.stringContaining("rename the tool") },
    });
  });
});

describe("a tool with the name under which fetches are recorded is told of as a tool, in a run without fetch,", () => {
  const name = `"${FETCH_TOOL}"`;

  test("when it fails", async () => {
    const fault = new Error("No disk");
    const broken: ToolSet = { [FETCH_TOOL]: { execute: () => Promise.reject(fault) } };
    const told: HostError[] = [];
    const onError = (report: HostError): void => void told.push(report);
    const { result } = host.start({ source: `await tools[${name}]()`, tools: broken, onError });
    const message = expect.stringMatching(`^Tool ${name} failed and the program did not catch it`) as string;
    expect(await result).toMatchObject({ failure: { code: "tool_failed", message } });
    expect(told).toMatchObject([{ error: fault, source: "tool", tool: FETCH_TOOL }]);
  });

  test("when its call was not waited for", async () => {
    const tools: ToolSet = { [FETCH_TOOL]: { execute: () => 1 } };
    const { result } = host.start({ source: `tools[${name}](); return 1`, tools, detachedCalls: "fail" });
    expect(await result).toMatchObject({
      failure: { message: expect.stringContaining(`its call of ${name}`) as string },
    });
  });

  test("when its outcome is unknown", async () => {
    await using store = createMemoryStore();
    const called = Promise.withResolvers<void>();
    const tools: ToolSet = { [FETCH_TOOL]: { execute: () => (called.resolve(), new Promise(() => {})) } };
    const first = createHost({ workers: 1, store, sealKey });
    const source = `return await tools[${name}]({ method: "GET" }).catch((error) => error.message)`;
    const { runId: id } = first.start({ source, tools });
    await called.promise;
    await first[Symbol.asyncDispose]();
    await using second = createHost({ workers: 1, store, sealKey });
    expect(await second.resume({ id, tools }).result).toMatchObject({
      value: expect.stringContaining(`The outcome of calling tool ${name} is unknown`) as string,
    });
  });
});

test("the check knows fetch and its response if a program has fetch [check:before]", async () => {
  await using checker = createChecker({ checkTimeMs: 20_000 });
  await checker.warm();
  await using checking = createHost({ workers: 1, check: { checker } });
  const works = `
    const response = await fetch(new URL("${server.origin}/count"), { method: "GET", headers: { a: "b" }, signal: AbortSignal.timeout(9000), cache: "no-store" });
    const { status, headers } = response;
    return [status, headers.get("x"), (await response.clone().bytes()).length, response.ok];`;
  expect(await checking.start({ source: works, fetchPolicy }).result).toMatchObject({
    value: [200, null, 2, true],
  });
  const advised = await checking.start({
    source: works.replace("response.ok]", "response.okay.x]"),
    fetchPolicy,
  }).result;
  expect(advised).toMatchObject({
    failure: { advice: [{ message: expect.stringContaining("okay") as string }] },
  });
  const without = await checking.start({ source: works }).result;
  expect(without).toMatchObject({ status: "failed" });
  expect(JSON.stringify(without)).toContain("fetch");
});
