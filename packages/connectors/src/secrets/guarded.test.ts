import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { nobody, requestOf } from "../../../../test/connectors/web-backend.ts";
import { largestTurnMs } from "../../../../test/fuzz/thread-time.ts";
import { HiddenTexts } from "../backend/hidden-texts.ts";
import type { BackendTool, Connector, ToolRequest } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { GuardedConnector } from "./guarded.ts";

const SECRET = "canary-value-0123456789";
const bound = { attempts: 4, enough: 10 };

/** A connector that fails, or does something else, when a tool is called. */
function guarded(call: (request: ToolRequest) => unknown, tools: readonly BackendTool[] = []): Connector {
  const hidden = new HiddenTexts([SECRET]);
  const connector: Connector = {
    id: "shop",
    kind: "http",
    card: { name: "Shop", description: "A shop" },
    facts: {},
    identity: "shop",
    isTrusted: true,
    check: async () => ({ tools: 0 }),
    tools: async () => [...tools],
    callTool: async (_name, _input, request) => ({ data: call(request) }),
    onChange: () => () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  return new GuardedConnector(connector, { inData: hidden, inErrors: hidden });
}

async function causeOf(cause: unknown, request = requestOf()): Promise<unknown> {
  const connector = guarded(() => {
    throw new ConnectorError("shop", "DOWNSTREAM_TOOL_ERROR", "It failed", { cause });
  });
  const error: unknown = await connector.callTool("x", {}, request).catch((thrown: unknown) => thrown);
  return (error as Error).cause;
}

function everythingOf(value: unknown): string {
  return inspect(value, { depth: null, maxArrayLength: null, maxStringLength: null, showHidden: true });
}

function nested(depth: number, inmost: unknown): unknown {
  let value = inmost;
  for (let at = 0; at < depth; at++) value = { value };
  return value;
}

describe("the cause of an error", () => {
  const more = (data: object): Error => Object.assign(new Error("It broke"), { code: "E_BROKEN" }, data);

  test.each<[string, Error]>([
    ["in its message", new TypeError(`It broke: ${SECRET}`)],
    ["deep in its data", more({ data: nested(9, SECRET) })],
    ["deeper than anybody looks", more({ data: nested(50, SECRET) })],
    ["behind many items", more({ data: [...Array.from({ length: 150 }, () => 1), SECRET] })],
    [
      "behind more items than anybody looks at",
      more({ data: [...Array.from({ length: 9000 }, () => 1), SECRET] }),
    ],
    ["behind many characters", more({ data: `${"x".repeat(20_050)}${SECRET}` })],
    ["behind more characters than anybody looks at", more({ data: `${"x".repeat(90_000)}${SECRET}` })],
    ["where what is shown ends", more({ data: `${"x".repeat(32_600)}${SECRET.repeat(100)}` })],
    ["behind line breaks", more({ data: `${"word ".repeat(20)}\n${SECRET}\n${"word ".repeat(20)}` })],
    ["in a name", more({ [SECRET]: 1 })],
    ["in a cause", new Error("outer", { cause: new Error("inner", { cause: SECRET }) })],
    ["in one of several errors", new AggregateError([new Error(SECRET)], "all failed")],
    ["in a map", more({ map: new Map([[SECRET, SECRET]]) })],
    ["in bytes", more({ bytes: Buffer.from(SECRET) })],
    [
      "in what only shows when it is read",
      more({ box: Object.defineProperty({}, "a", { get: () => SECRET }) }),
    ],
    ["in a hidden property", Object.defineProperty(new Error("It broke"), "a", { value: SECRET })],
  ])("has no secret %s", async (_, cause) => {
    const shown = await causeOf(cause);
    expect(shown).toBeInstanceOf(Error);
    const { name, message } = shown as Error;
    const text = everythingOf(shown);
    for (let at = 0; at + 8 <= SECRET.length; at++) expect(text).not.toContain(SECRET.slice(at, at + 8));
    expect(text).not.toContain(Buffer.from(SECRET).toString("hex").slice(0, 16));
    expect(name).toBe(cause.name);
    expect(message).toContain(cause.message.replace(SECRET, "[hidden]"));
    if ("code" in cause) expect(shown).toMatchObject({ code: "E_BROKEN" });
  });

  test("is the same if the error is thrown again", async () => {
    const error = new ConnectorError("shop", "SERVER_UNAVAILABLE", "It ended", { cause: new Error(SECRET) });
    const connector = guarded(() => {
      throw error;
    });
    const call = (): Promise<unknown> =>
      connector.callTool("x", {}, requestOf()).catch((thrown: unknown) => thrown);
    const [first, second] = await Promise.all([call(), call()]);
    expect(first).not.toBe(error);
    expect([second, await call()]).toEqual([first, first]);
    expect(second).toBe(first);
  });

  test("is itself if nothing is hidden in it, and if its caller gave it", async () => {
    const round: Record<string, unknown> = { list: [1, null, { a: undefined }] };
    round["self"] = round;
    for (const cause of [
      new Error("It broke", { cause: new TypeError("inner") }),
      more({ round }),
      new DOMException("It broke", "AbortError"),
      "a text",
    ])
      expect(await causeOf(cause)).toBe(cause);
    const reason = { own: new Map([[SECRET, 1]]) };
    expect(await causeOf(reason, { ...requestOf(), signal: AbortSignal.abort(reason) })).toBe(reason);
  });

  test.each([
    ["escapes", () => "\\u0041".repeat(1_000_000)],
    ["items", () => Array.from({ length: 400_000 }, (_, at) => `item ${at}`)],
    ["nested items", () => Array.from({ length: 300 }, () => Array.from({ length: 300 }, () => ["\\u0041"]))],
  ])("does not hold the thread with many %s", async (_, data) => {
    const cause = more({ data: data() });
    const work = (): Promise<unknown> => causeOf(cause);
    expect(await largestTurnMs(() => work, bound)).toBeLessThan(20);
  });
});

describe("progress", () => {
  test("has no secret, and is told at once", async () => {
    const told: unknown[] = [];
    const request = { ...requestOf(), onProgress: (progress: unknown) => void told.push(progress) };
    const connector = guarded(({ onProgress }) => {
      onProgress?.({ message: `a ${SECRET}` });
      expect(told).toEqual([{ message: "a [hidden]" }]);
      onProgress?.({ message: `${"x".repeat(20_000)}${SECRET}` });
      onProgress?.(Array.from({ length: 100_000 }, () => SECRET));
      return null;
    });
    await connector.callTool("x", {}, request);
    expect(told).toHaveLength(3);
    expect(JSON.stringify(told)).not.toContain(SECRET);
    expect(JSON.stringify(told).length).toBeLessThan(400);
  });

  test("that is large does not hold the thread", async () => {
    const progress = { message: "\\u0041".repeat(1_300_000) };
    const connector = guarded(({ onProgress }) => (onProgress?.(progress), null));
    const request = { ...requestOf(), onProgress: () => {} };
    const work = (): Promise<unknown> => connector.callTool("x", {}, request);
    expect(await largestTurnMs(() => work, bound)).toBeLessThan(50);
  });
});

describe("schemas", () => {
  test("that are large have no secret, and do not hold the thread", async () => {
    const description = `${"\\u0041".repeat(500_000)}${SECRET}`;
    const tool = { name: "x", inputSchema: { type: "object", properties: { a: { description } } } };
    let shown: BackendTool | undefined;
    const work = async (): Promise<void> => {
      [shown] = await guarded(() => null, [tool]).tools({ signal: nobody });
      expect(shown?.inputSchema).toBeDefined();
    };
    expect(await largestTurnMs(() => work, bound)).toBeLessThan(50);
    expect(JSON.stringify(shown?.inputSchema).endsWith('[hidden]"}}}')).toBe(true);
  });

  test("that are made later are not made before", async () => {
    let made = 0;
    const inputSchema = { type: "object" };
    const tool = Object.defineProperty({ name: SECRET }, "inputSchema", {
      enumerable: true,
      get: () => (made++, inputSchema),
    }) as unknown as BackendTool;
    const connector = guarded(() => null, [tool]);
    const [shown] = await connector.tools({ signal: nobody });
    expect([shown?.name, made]).toEqual(["[hidden]", 0]);
    expect(shown?.inputSchema).toBe(inputSchema);
  });
});

test("a tool is searched once, however often the tools are listed", async () => {
  let reads = 0;
  const tool: BackendTool = {
    name: "buy",
    get description() {
      reads++;
      return `Buys with ${SECRET}`;
    },
  };
  const connector = guarded(() => null, [tool, { name: "sell" }]);
  const lists = await Promise.all([1, 2].map(() => connector.tools({ signal: nobody })));
  reads = 0;
  const [first, second] = await connector.tools({ signal: nobody });
  expect(reads).toBe(0);
  expect(first).toMatchObject({ name: "buy", description: "Buys with [hidden]" });
  for (const list of lists) {
    expect(list[0]).toBe(first);
    expect(list[1]).toBe(second);
  }
});
