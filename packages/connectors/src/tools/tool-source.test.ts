import { createHost, type Host, type RunEvent, type RunResult, type ToolSet } from "codecell";
import { createCatalog } from "codecell/catalog";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Artifacts } from "../artifacts/artifacts.ts";
import { cli } from "../cli/cli.ts";
import { type BackendTool, Bytes, type Connector, type ToolRequest } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { connectTools } from "./connect-tools.ts";
import { toToolSource } from "./tool-source.ts";

type Call = (name: string, input: unknown, request: ToolRequest) => unknown;

interface Made {
  readonly name: string;
  readonly input: unknown;
  readonly request: ToolRequest;
}

/** A backend in this process, that answers what the test says. */
function fake(
  tools: readonly BackendTool[],
  { call = () => null, made = [], ...rest }: Partial<Connector> & { call?: Call; made?: Made[] } = {},
): Connector {
  return {
    id: "shop",
    kind: "mcp",
    card: { name: "Shop", description: "Sells things", useWhen: "a client buys", tags: ["retail"] },
    facts: {},
    identity: "shop-1",
    isTrusted: false,
    check: async () => ({ tools: tools.length }),
    tools: async () => tools,
    callTool: async (name, input, request) => {
      made.push({ name, input, request });
      return { data: await call(name, input, request) };
    },
    onChange: () => () => {},
    [Symbol.asyncDispose]: async () => {},
    ...rest,
  };
}

const idInput = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
const down = new ConnectorError("down", "SERVER_UNAVAILABLE", '"down" is not there');
const downConnector = fake([], { id: "down", tools: () => Promise.reject(down) });

let host: Host;
beforeAll(() => void (host = createHost({ workers: 1 })));
afterAll(() => host[Symbol.asyncDispose]());

async function toolsOf(connector: Connector, artifacts = new Artifacts()): Promise<ToolSet> {
  return (await toToolSource(connector, { artifacts })).tools;
}

function valueOf(result: RunResult): unknown {
  expect(result).toMatchObject({ status: "completed" });
  return result.status === "completed" ? result.value : undefined;
}

describe("the tools of a connector", () => {
  test("are catalogued by id, with what is said of them", async () => {
    const shop = fake([
      {
        name: "buy",
        title: "Buy",
        description: "Buys a thing",
        inputSchema: idInput,
        outputSchema: { type: "number" },
      },
      { name: "sell", useWhen: "nobody wants it any more", avoidWhen: "it is new", tags: ["retail", "used"] },
    ]);
    const catalog = createCatalog([await toToolSource(shop)]);
    expect(catalog.entries.map(({ id }) => id)).toEqual(["mcp:shop:buy", "mcp:shop:sell"]);
    expect(await catalog.describe("mcp:shop:buy")).toMatchObject({
      label: "Buy",
      description: "Buys a thing\nUse when: a client buys",
      inputSchema: idInput,
      outputSchema: { type: "number" },
      signature: "tools.buy(input:{id:string}):Promise<number>",
      tags: ["retail", "Shop"],
    });
    expect(await catalog.describe("mcp:shop:sell")).toMatchObject({
      description: "Sells things\nUse when: nobody wants it any more\nAvoid when: it is new",
      tags: ["retail", "used", "Shop"],
    });
  });

  test("are found by what a person says of when to use them", async () => {
    const command = { program: "node", description: "Runs a query" };
    const cluster = cli({
      id: "cluster",
      card: { name: "Cluster", description: "Machines" },
      commands: [
        { ...command, name: "q1", useWhen: "a disk is nearly full" },
        { ...command, name: "q2", useWhen: "somebody forgot their password" },
      ],
    });
    const { sources } = await connectTools([cluster, fake([{ name: "buy" }, { name: "sell" }])]);
    const catalog = createCatalog(sources);
    const first = async (query: string): Promise<string | undefined> => (await catalog.search(query))[0]?.id;
    expect(await first("my disk is full")).toBe("cli:cluster:q1");
    expect(await first("forgotten password")).toBe("cli:cluster:q2");
    expect(await first("what a client buys")).toMatch(/^mcp:shop:/u);
  });

  test("are under the policy of the catalog", async () => {
    const { sources } = await connectTools([fake([{ name: "buy" }, { name: "delete_all" }])]);
    const catalog = createCatalog(sources, { policy: { deny: ["*:shop:delete_*"] } });
    expect(catalog.entries.map(({ id }) => id)).toEqual(["mcp:shop:buy"]);
    expect(createCatalog(sources, { policy: { deny: ["mcp:*:*"] } }).entries).toEqual([]);
  });

  test("may be repeated only if a trusted connector says so, and nothing is destroyed", async () => {
    const tools = [
      { name: "claims", readOnlyHint: true, idempotentHint: true },
      { name: "destroys", readOnlyHint: true, destructiveHint: true },
      { name: "silent" },
    ];
    const flagsOf = async (isTrusted: boolean): Promise<unknown> =>
      Object.values(await toolsOf(fake(tools, { isTrusted }))).map(({ readOnly, idempotent }) => [
        readOnly,
        idempotent,
      ]);
    expect(await flagsOf(false)).toEqual([
      [false, false],
      [false, false],
      [false, false],
    ]);
    expect(await flagsOf(true)).toEqual([
      [true, true],
      [false, false],
      [false, false],
    ]);
  });
});

describe("a call", () => {
  test("hands on its input, its key and its signal, and gives the data", async () => {
    const made: Made[] = [];
    const call: Call = (_name, input) => ({ got: input });
    const tools = await toolsOf(
      fake([{ name: "buy", inputSchema: idInput }, { name: "list" }], { made, call }),
    );
    const source = `return [await tools.buy({ id: "a" }), await tools.list(), await tools.list({ x: 1 })]`;
    const run = host.start({ source, tools });
    expect(valueOf(await run.result)).toEqual([{ got: { id: "a" } }, { got: {} }, { got: { x: 1 } }]);
    const keys = made.map(({ request }) => request.idempotencyKey);
    expect(keys).toEqual([0, 1, 2].map((at) => `${run.runId}:${at}`));
    expect(made.every(({ request }) => request.signal instanceof AbortSignal)).toBe(true);
  });

  test("is told to stop when its run ends", async () => {
    const stopped = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const call: Call = (_name, _input, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          reject(signal.reason as Error);
          stopped.resolve();
        });
        begun.resolve();
      });
    const controller = new AbortController();
    const tools = await toolsOf(fake([{ name: "hang" }], { call }));
    const run = host.start({ source: "await tools.hang()", tools, signal: controller.signal });
    await begun.promise;
    controller.abort();
    await stopped.promise;
    expect(await run.result).toMatchObject({ status: "failed" });
  });

  test("fails with the code and the message of its connector, and with nothing else of what was thrown", async () => {
    const errors = [
      new ConnectorError("shop", "AUTH_REQUIRED", "Sign in to the shop", { cause: new Error("token-1") }),
      new Error("cannot open /home/secret"),
    ];
    const tools = await toolsOf(fake([{ name: "buy" }], { call: () => Promise.reject(errors.shift()) }));
    const source = `
      const failed = () => tools.buy().catch(({ code, toolCode, message }) => [code, toolCode, message]);
      return [await failed(), await failed(), await tools.buy(7).catch(({ toolCode }) => toolCode)]`;
    expect(valueOf(await host.start({ source, tools }).result)).toEqual([
      ["tool_failed", "AUTH_REQUIRED", "Sign in to the shop"],
      ["tool_failed", "SERVER_UNAVAILABLE", 'Cannot call "buy" of "shop": its connector failed'],
      "REQUEST_INVALID",
    ]);
  });

  test("that gives what the backend said it never gives fails, and names the tool", async () => {
    const tools = await toolsOf(
      fake([{ name: "buy", outputSchema: { type: "number" } }], { call: () => "no number" }),
    );
    const source = "return await tools.buy().catch(({ code, message }) => [code, message])";
    const [code, message] = valueOf(await host.start({ source, tools }).result) as string[];
    expect(code).toBe("invalid_output");
    expect(message).toContain("buy");
  });

  test("tells the progress of its backend", async () => {
    const call: Call = async (_name, _input, { onProgress }) => {
      for (const done of [1, 2]) {
        onProgress?.({ done });
        // Whoever reads gets a turn.
        await new Promise((resolve) => setImmediate(resolve));
      }
      onProgress?.({ done: 3 });
      onProgress?.({ done: 4 });
      return "all";
    };
    const tools = await toolsOf(fake([{ name: "buy" }], { call }));
    const run = host.start({ source: "return await tools.buy()", tools });
    const events: RunEvent[] = [];
    for await (const event of run.events) events.push(event);
    expect(valueOf(await run.result)).toBe("all");
    const told = events.flatMap((event) => (event.type === "call-progress" ? [event.output] : []));
    expect(told.slice(0, 2)).toEqual([{ done: 1 }, { done: 2 }]);
    expect(told.at(-1)).toBe("all");
    expect(told).not.toContainEqual({ done: 3 });
  });

  test("has no progress if its backend reports none", async () => {
    const tools = await toolsOf(fake([{ name: "buy" }], { call: () => "all" }));
    const run = host.start({ source: "return await tools.buy()", tools });
    const types: string[] = [];
    for await (const { type } of run.events) types.push(type);
    expect(types).toEqual(["run-start", "call-start", "call-end", "run-end"]);
  });

  test("that fails after it reported progress fails with its error", async () => {
    const call: Call = async (_name, _input, { onProgress }) => {
      onProgress?.(1);
      await new Promise((resolve) => setImmediate(resolve));
      throw new ConnectorError("shop", "TOOL_CALL_TIMEOUT", "Too late");
    };
    const tools = await toolsOf(fake([{ name: "buy" }], { call }));
    const source = "return await tools.buy().catch(({ toolCode }) => toolCode)";
    expect(valueOf(await host.start({ source, tools }).result)).toBe("TOOL_CALL_TIMEOUT");
  });

  test("that reported progress and is told to stop fails in silence", async () => {
    const controller = new AbortController();
    const failed = Promise.withResolvers<void>();
    const call: Call = (_name, _input, { onProgress, signal }) => {
      onProgress?.(1);
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          onProgress?.(2);
          // Whoever reads has left before it fails.
          setImmediate(() => {
            reject(signal.reason as Error);
            failed.resolve();
          });
        });
      });
    };
    const tools = await toolsOf(fake([{ name: "buy" }], { call }));
    const run = host.start({ source: "await tools.buy()", tools, signal: controller.signal });
    for await (const { type } of run.events) if (type === "call-progress") controller.abort();
    await failed.promise;
    // An unhandled rejection would fail the test run.
    await new Promise((resolve) => setImmediate(resolve));
    expect(await run.result).toMatchObject({ status: "failed" });
  });

  test("gives references to bytes, which the host can read", async () => {
    const artifacts = new Artifacts({ maxBytes: 100 });
    const call: Call = (_name, input) => ({
      report: new Bytes(Buffer.alloc((input as { size: number }).size, "x"), { filename: "r.txt" }),
    });
    const tools = await toolsOf(fake([{ name: "print" }], { call }), artifacts);
    const source = `
      const refused = await tools.print({ size: 101 }).catch(({ toolCode }) => toolCode);
      return [(await tools.print({ size: 3 })).report, refused]`;
    const [report, refused] = valueOf(await host.start({ source, tools }).result) as [
      { uri: string },
      string,
    ];
    expect(report).toMatchObject({ byteLength: 3, filename: "r.txt" });
    expect(Buffer.from(artifacts.read(report.uri) ?? []).toString()).toBe("xxx");
    expect(refused).toBe("RESPONSE_TOO_LARGE");
  });
});

describe("a call of a tool that destroys something", () => {
  const PROGRAM = `
    const kept = await tools.list();
    try { return await tools.wipe({ id: "a" }) } catch ({ code, toolCode, message }) { return { code, toolCode, message, kept } }`;

  async function asked(
    isTrusted: boolean,
  ): Promise<{ made: Made[]; tools: ToolSet; token: string; callId: string }> {
    const made: Made[] = [];
    const call: Call = (name) => name;
    const declared = [{ name: "list" }, { name: "wipe", inputSchema: idInput, destructiveHint: true }];
    const tools = await toolsOf(fake(declared, { made, call, isTrusted }));
    const result = await host.start({ source: PROGRAM, tools }).result;
    expect(result.status).toBe("suspended");
    if (result.status !== "suspended") throw new Error("The run did not stop");
    const { token, pending } = result.suspension;
    expect(pending).toEqual([
      expect.objectContaining({
        tool: "wipe",
        input: { id: "a" },
        payload: { connector: "shop", tool: "wipe", input: { id: "a" } },
      }),
    ]);
    expect(made.map(({ name }) => name)).toEqual(["list"]);
    return { made, tools, token, callId: pending[0]?.callId ?? "" };
  }

  test.each([true, false])("is made once after a yes (trusted: %s)", async (isTrusted) => {
    const { made, tools, token, callId } = await asked(isTrusted);
    const resolutions = { [callId]: { resolution: true } };
    expect(valueOf(await host.resume({ token, resolutions, tools }).result)).toBe("wipe");
    expect(made.map(({ name }) => name)).toEqual(["list", "wipe"]);
    expect(made[1]?.request.idempotencyKey).toBe(callId);
  });

  test("is not made after a denial", async () => {
    const { made, tools, token, callId } = await asked(true);
    const resolutions = { [callId]: { deny: "keep it" } };
    const value = valueOf(await host.resume({ token, resolutions, tools }).result);
    expect(value).toMatchObject({
      code: "denied",
      message: expect.stringContaining("keep it"),
      kept: "list",
    });
    expect(made).toHaveLength(1);
  });

  test.each([false, "yes", 1, {}])("is not made after %j, and does not ask again", async (resolution) => {
    const { made, tools, token, callId } = await asked(true);
    const resolutions = { [callId]: { resolution } };
    const value = valueOf(await host.resume({ token, resolutions, tools }).result);
    expect(value).toMatchObject({ code: "tool_failed", toolCode: "CALL_DENIED" });
    expect(made).toHaveLength(1);
  });
});

describe("connectors", () => {
  test("are used without those that are down, and that is told", async () => {
    const broken = fake([], { id: "broken", tools: () => Promise.reject(new Error("/home/secret")) });
    const { sources, unready } = await connectTools([downConnector, fake([{ name: "buy" }]), broken]);
    expect(sources.map(({ owner }) => owner)).toEqual(["shop"]);
    expect(unready.map(({ connector, code, message }) => [connector, code, message])).toEqual([
      ["down", "SERVER_UNAVAILABLE", '"down" is not there'],
      ["broken", "SERVER_UNAVAILABLE", 'Cannot read the tools of "broken": its connector failed'],
    ]);
  });

  test.each<[string, readonly BackendTool[]]>([
    ["two tools of one name", [{ name: "buy" }, { name: "buy" }]],
    ["a tool without a name", [{ name: "" }]],
    ["a schema that is none", [{ name: "buy", inputSchema: [] as never }]],
  ])("with %s keep no other from being used", async (_, tools) => {
    const { sources, unready } = await connectTools([fake(tools, { id: "odd" }), fake([{ name: "buy" }])]);
    expect(createCatalog(sources).entries).toHaveLength(1);
    expect(unready).toEqual([
      expect.objectContaining({ connector: "odd", code: "DOWNSTREAM_PROTOCOL_ERROR" }),
    ]);
  });

  test("keep bytes in one place", async () => {
    const call: Call = () => new Bytes(Buffer.from("abc"));
    const shops = ["a", "b"].map((id) => fake([{ name: id }], { id, call }));
    const { sources, artifacts } = await connectTools(shops);
    const tools: ToolSet = Object.assign({}, ...sources.map((source) => source.tools));
    const source = "return [await tools.a(), await tools.b()]";
    const value = valueOf(await host.start({ source, tools }).result) as { uri: string }[];
    expect(value.map(({ uri }) => artifacts.read(uri)?.byteLength)).toEqual([3, 3]);
  });

  test("of one id are refused", async () => {
    await expect(connectTools([fake([]), fake([])])).rejects.toThrow(TypeError);
  });

  test("are not waited for in vain", async () => {
    const tools: Connector["tools"] = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    const caller = new AbortController();
    const connecting = connectTools([fake([], { tools }), fake([], { id: "b" })], { signal: caller.signal });
    const reason = new Error("never mind");
    caller.abort(reason);
    await expect(connecting).rejects.toBe(reason);
  });
});
