/** An MCP server with known answers, made with the official package. For tests, and for Node.js as it is. */
import { McpServer, ResourceTemplate, completable } from "@modelcontextprotocol/server";
import { z } from "zod";

export interface Hooks {
  /** The tool that hangs was called. */
  readonly onHanging: () => void;
  /** That call was cancelled, or lost its caller. */
  readonly onCancelled: () => void;
}

/** A PNG of one pixel. */
export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export const TOOL_ERROR = "the fuse of the lamp is blown";

function text(value: string): { content: { type: "text"; text: string }[] } {
  return { content: [{ type: "text", text: value }] };
}

export function createFixtureServer({ onHanging, onCancelled }: Hooks): McpServer {
  const server = new McpServer(
    { name: "fixture", version: "1.2.3" },
    { capabilities: { tools: { listChanged: true }, logging: {} } },
  );
  server.registerTool(
    "add",
    {
      title: "Add",
      description: "Adds two numbers",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true, idempotentHint: true },
    },
    ({ a, b }) => ({
      content: [{ type: "text", text: `The sum is ${a + b}` }],
      structuredContent: { sum: a + b },
    }),
  );
  server.registerTool("fail", { description: "Fails" }, () => ({ isError: true, ...text(TOOL_ERROR) }));
  server.registerTool("fail_with_secret", { description: "Repeats its credentials" }, (ctx) => ({
    isError: true,
    ...text(`Refused ${process.env["FIXTURE_SECRET"] ?? ctx.http?.req?.headers.get("authorization") ?? ""}`),
  }));
  server.registerTool("hang", { description: "Never answers" }, async (ctx) => {
    const { signal } = ctx.mcpReq;
    onHanging();
    if (!signal.aborted)
      await new Promise((resolve) => {
        signal.addEventListener("abort", resolve, { once: true });
      });
    onCancelled();
    return text("");
  });
  server.registerTool(
    "large",
    { description: "Answers with many letters", inputSchema: z.object({ letters: z.number() }) },
    ({ letters }) => text("x".repeat(letters)),
  );
  server.registerTool("json_text", { description: "JSON in a text" }, () => text('{ "ok": [1, 2] }'));
  server.registerTool("number_text", { description: "A number in a text" }, () => text("0012"));
  server.registerTool("two_texts", { description: "Two JSON texts" }, () => ({
    content: [...text('{"a":1}').content, ...text('{"b":2}').content],
  }));
  server.registerTool("picture", { description: "A picture" }, () => ({
    content: [{ type: "image", data: PIXEL, mimeType: "image/png" }],
  }));
  server.registerTool("mixed", { description: "Text, picture and files" }, () => ({
    content: [
      { type: "text", text: "A pixel" },
      { type: "image", data: PIXEL, mimeType: "image/png" },
      { type: "resource", resource: { uri: "file:///a/pixel.png", blob: PIXEL, mimeType: "image/png" } },
      { type: "resource_link", uri: "note://1", name: "First note" },
    ],
  }));
  server.registerTool("progress", { description: "Tells of its progress" }, async (ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    if (progressToken !== undefined)
      await ctx.mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress: 1, total: 2, message: "half" },
      });
    return text("done");
  });
  server.registerTool("exit", { description: "Ends the process" }, () => process.exit(9));
  server.registerResource("note", "note://1", { title: "First", mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "Water the plants" }],
  }));
  server.registerResource("pixel", "file:///a/pixel.png", { mimeType: "image/png" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "image/png", blob: PIXEL }],
  }));
  server.registerResource(
    "note-of",
    new ResourceTemplate("note://{owner}/{number}", {
      list: undefined,
      complete: {
        number: (value, context) =>
          ["10", "11", "20"]
            .filter((one) => one.startsWith(value))
            .map((one) => (context?.arguments?.["owner"] === "ann" ? `ann-${one}` : one)),
      },
    }),
    { description: "A note of somebody" },
    (uri) => ({ contents: [{ uri: uri.href, text: uri.href }] }),
  );
  server.registerPrompt(
    "greet",
    {
      description: "Greets somebody",
      argsSchema: z.object({
        who: completable(z.string().describe("Whom to greet"), (value) =>
          ["Ann", "Anton", "Bea"].filter((one) => one.startsWith(value)),
        ),
      }),
    },
    ({ who }) => ({
      messages: [
        { role: "user", content: { type: "text", text: `Greet ${who}` } },
        { role: "user", content: { type: "image", data: PIXEL, mimeType: "image/png" } },
      ],
    }),
  );
  return server;
}
