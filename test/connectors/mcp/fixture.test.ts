/** What an MCP server gives, as data for programs: over a process and over HTTP. */
import { Bytes, type Connector, type ConnectorError } from "@codecell/connectors";
import type { ConnectorUnderTest } from "@codecell/connectors/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PIXEL } from "./fixture-server.ts";
import { openHttp, openSessions, openStdio, SECRET, START_TIMEOUT_MS } from "./opened.ts";

const nobody = { signal: new AbortController().signal };
const request = { ...nobody, idempotencyKey: "1" };
const OPTIONS = { timeoutMs: START_TIMEOUT_MS, responseBytes: 1_000_000 };
const pixel = new Bytes(Buffer.from(PIXEL, "base64"), { mediaType: "image/png" });

async function errorOf(action: Promise<unknown>): Promise<ConnectorError> {
  return (await action.then(
    () => new Error("It should have failed"),
    (error: unknown) => error,
  )) as ConnectorError;
}

describe.each([
  ["a process", openStdio],
  ["HTTP", openHttp],
  ["HTTP in sessions", openSessions],
])("an MCP server over %s", (_, open) => {
  let opened: ConnectorUnderTest;
  let connector: Connector;
  beforeEach(async () => {
    opened = await open(OPTIONS);
    ({ connector } = opened);
  });
  afterEach(() => opened[Symbol.asyncDispose]());

  const dataOf = async (tool: string, input = {}): Promise<unknown> =>
    (await connector.callTool(tool, input, request)).data;
  const context = (): NonNullable<Connector["context"]> => {
    if (connector.context === undefined) throw new Error("An MCP server has a context");
    return connector.context;
  };

  test("gives structured content, parsed text, or text as it is [handles:33]", async () => {
    expect(await dataOf("add", { a: 1, b: 2 })).toEqual({ sum: 3 });
    expect(await dataOf("json_text")).toEqual({ ok: [1, 2] });
    expect(await dataOf("number_text")).toBe("0012");
  });

  test("gives long text whole, and every block of what is mixed [handles:34]", async () => {
    expect(await dataOf("large", { letters: 200_000 })).toHaveLength(200_000);
    expect(await dataOf("two_texts")).toEqual({
      content: [
        { type: "text", text: '{"a":1}' },
        { type: "text", text: '{"b":2}' },
      ],
    });
    expect(await dataOf("picture")).toEqual(pixel);
    expect(await dataOf("mixed")).toEqual({
      content: [
        { type: "text", text: "A pixel" },
        { type: "image", data: pixel, mimeType: "image/png" },
        {
          type: "resource",
          resource: {
            uri: "file:///a/pixel.png",
            mimeType: "image/png",
            blob: new Bytes(pixel.bytes, { mediaType: "image/png", filename: "pixel.png" }),
          },
        },
        { type: "resource_link", uri: "note://1", name: "First note" },
      ],
    });
  });

  test("describes its tools as the server does", async () => {
    const add = (await connector.tools(nobody)).find(({ name }) => name === "add");
    expect(add).toMatchObject({
      title: "Add",
      description: "Adds two numbers",
      inputSchema: { type: "object", required: ["a", "b"] },
      outputSchema: { type: "object", required: ["sum"] },
      readOnlyHint: true,
      idempotentHint: true,
    });
    expect(add).not.toHaveProperty("destructiveHint");
    expect(Object.isFrozen(add?.inputSchema)).toBe(true);
  });

  test("tells of its progress", async () => {
    const heard = Promise.withResolvers<unknown>();
    const { data } = await connector.callTool("progress", {}, { ...request, onProgress: heard.resolve });
    expect(data).toBe("done");
    expect(await heard.promise).toEqual({ progress: 1, total: 2, message: "half" });
  });

  test("refuses bytes, which it has no way to take", async () => {
    for (const bytes of [new Uint8Array(3), new Bytes(new Uint8Array(3)), new ArrayBuffer(3)]) {
      const error = await errorOf(connector.callTool("add", { a: { b: [bytes] } }, request));
      expect(error).toMatchObject({ code: "REQUEST_INVALID", hasNoEffect: true });
    }
  });

  test("keeps its credentials out of what it says of errors", async () => {
    const error = await errorOf(dataOf("fail_with_secret"));
    expect(error.message).toBe(error.message.replace(SECRET, ""));
    expect(error.message).toMatch(/^Refused (Bearer )?\[hidden\]$/u);
  });

  test("lists and reads resources", async () => {
    expect(await context().resources(nobody)).toEqual([
      { uri: "file:///a/pixel.png", name: "pixel", mimeType: "image/png" },
      { uri: "note://1", name: "note", title: "First", mimeType: "text/plain" },
    ]);
    expect(await context().resourceTemplates(nobody)).toEqual([
      { uriTemplate: "note://{owner}/{number}", name: "note-of", description: "A note of somebody" },
    ]);
    expect((await context().readResource("note://1", nobody)).data).toEqual({
      contents: [{ uri: "note://1", mimeType: "text/plain", text: "Water the plants" }],
    });
    expect((await context().readResource("file:///a/pixel.png", nobody)).data).toMatchObject({
      contents: [{ blob: { bytes: pixel.bytes, filename: "pixel.png", mediaType: "image/png" } }],
    });
    const error = await errorOf(context().readResource("none://1", nobody));
    expect(error.code).toBe("DOWNSTREAM_RESOURCE_ERROR");
    expect(error.message).toContain("none://1");
  });

  test("lists and makes prompts", async () => {
    expect(await context().prompts(nobody)).toEqual([
      {
        name: "greet",
        description: "Greets somebody",
        arguments: [{ name: "who", description: "Whom to greet", required: true }],
      },
    ]);
    const { data } = await context().getPrompt("greet", { who: "Ann" }, nobody);
    expect(data).toEqual({
      messages: [
        { role: "user", content: { type: "text", text: "Greet Ann" } },
        { role: "user", content: { type: "image", data: pixel, mimeType: "image/png" } },
      ],
    });
    expect(await errorOf(context().getPrompt("none", {}, nobody))).toMatchObject({
      code: "PROMPT_NOT_FOUND",
      message: '"fixture" has no prompt "none"',
    });
    expect(await errorOf(context().getPrompt("greet", {}, nobody))).toMatchObject({
      code: "DOWNSTREAM_PROMPT_ERROR",
    });
  });

  test("completes arguments of prompts and of templates", async () => {
    const prompt = { type: "prompt", name: "greet" } as const;
    expect(
      await context().complete({ ref: prompt, argument: { name: "who", value: "An" } }, nobody),
    ).toMatchObject({ values: ["Ann", "Anton"] });
    const template = { type: "resourceTemplate", uri: "note://{owner}/{number}" } as const;
    const argument = { name: "number", value: "1" };
    expect(await context().complete({ ref: template, argument }, nobody)).toMatchObject({
      values: ["10", "11"],
    });
    const given = { arguments: { owner: "ann" } };
    expect(await context().complete({ ref: template, argument, context: given }, nobody)).toMatchObject({
      values: ["ann-10", "ann-11"],
    });
    const unknown = { ref: { type: "prompt", name: "none" } as const, argument };
    expect(await errorOf(context().complete(unknown, nobody))).toMatchObject({
      code: "DOWNSTREAM_COMPLETION_ERROR",
    });
  });

  test("says what it has", async () => {
    expect(await connector.check(nobody)).toMatchObject({
      resources: 2,
      resourceTemplates: 1,
      prompts: 1,
      about: { server: "fixture", version: "1.2.3" },
    });
  });
});
