/**
 * An MCP server in the older protocol, written by hand, that does one thing wrong: SCRIPTED_FAULT says which. It tells the
 * test what happens at SCRIPTED_CONTROL.
 */
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";

interface Request {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const fault = process.env["SCRIPTED_FAULT"];
const MEGABYTE = "x".repeat(1024 * 1024);
let toolsChanges = 0;
/** The call that ends when the server's own question is answered. */
let asking: Request["id"];

const tell = async (event: string): Promise<boolean> =>
  (await fetch(`${process.env["SCRIPTED_CONTROL"]}/${event}`, { method: "POST" })).ok;

const isFirst = await tell(`started/${process.pid}`);

function write(text: string): void {
  let bytes = Buffer.from(text);
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(1, bytes));
    } catch (error) {
      // The pipe is full.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
  }
}

const send = (message: object): void => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

const tool = (name: string): object => ({ name, inputSchema: { type: "object" } });

function listOf(cursor: string | undefined): object {
  switch (fault) {
    case "pages": {
      const from = cursor === undefined ? 0 : Number(cursor);
      const page = Array.from({ length: 25 }, (_, index) => tool(`tool-${999 - from - index}`));
      return { tools: page.toReversed(), ...(from < 100 && { nextCursor: String(from + 25) }) };
    }
    case "endless-list":
      return { tools: [tool(`tool-${cursor}`)], nextCursor: `${Number(cursor ?? 0) + 1}` };
    case "many-items":
      return {
        tools: Array.from({ length: 9000 }, (_, index) => tool(`tool-${cursor}-${index}`)),
        nextCursor: `${Number(cursor ?? 0) + 1}`,
      };
    case "malformed-list":
      return { tools: "none" };
    case "twice":
      return { tools: [{ ...tool("b"), title: "First" }, tool("a"), { ...tool("b"), title: "Second" }] };
    case "lie":
      return {
        tools: [
          {
            ...tool("fault"),
            outputSchema: { type: "object", properties: { a: { pattern: "(a+)+$" } }, required: ["a"] },
          },
        ],
      };
    case undefined:
    default:
      return { tools: [tool("echo"), tool("fault"), tool(`tool-${toolsChanges}`)] };
  }
}

const text = (value: string): object => ({ content: [{ type: "text", text: value }] });

async function call({ id, params }: Request): Promise<void> {
  if (params?.["name"] !== "fault") {
    send({ id, result: text(String(params?.["name"])) });
    return;
  }
  await tell("called");
  switch (fault) {
    case "huge":
      write('{"result":{"content":[{"type":"text","text":"{\\"id\\":1} ');
      for (let sent = 0; sent < 50; sent++) write(MEGABYTE);
      write(`"}]},"jsonrpc":"2.0","id":${id}}\n`);
      break;
    case "endless-line":
      for (let sent = 0; sent < 200; sent++) write(MEGABYTE);
      await tell("written");
      break;
    case "malformed":
      write(`this is no message\n\n{"a": 1}\n[1]\n{"jsonrpc":"2.0","id":${id}}\n`);
      break;
    case "malformed-result":
      send({ id, result: { content: 5 } });
      break;
    case "flood":
      for (let sent = 0; sent < 20_000; sent++) send({ method: "notifications/tools/list_changed" });
      send({ id, result: text("flooded") });
      break;
    case "change":
      toolsChanges++;
      send({ method: "notifications/tools/list_changed" });
      send({ id, result: text("changed") });
      break;
    case "progress": {
      const { progressToken } = params["_meta"] as { readonly progressToken: unknown };
      const progress = { progressToken, progress: 1 };
      const notice = { jsonrpc: "2.0", method: "notifications/progress", params: progress };
      write(`${JSON.stringify(notice)}\n${JSON.stringify({ jsonrpc: "2.0", id, result: text("done") })}\n`);
      break;
    }
    case "quiet-change":
      toolsChanges++;
      send({ id, result: text("changed") });
      break;
    case "die":
      process.exit(5);
      break;
    case "lie":
      send({ id, result: text("this is not what was promised") });
      break;
    case "ask":
      send({
        id: "from-server",
        method: "elicitation/create",
        params: { message: "?", requestedSchema: {} },
      });
      send({ id, result: text("went on") });
      break;
    case "long-id":
      asking = id;
      for (const ping of ["long".padEnd(300, "!"), "short"]) send({ id: ping, method: "ping" });
      break;
    case "unread":
      for (let ping = 0; ping < 5000; ping++) send({ id: `${ping}`.padStart(150, "0"), method: "ping" });
      // Neither reads nor ends by itself.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      break;
    case "noisy":
      for (let sent = 0; sent < 20; sent++) process.stderr.write(MEGABYTE);
      process.stderr.write("the last words", () => send({ id, result: text("noisy") }));
      break;
    case undefined:
    default:
      send({ id, error: { code: -32_000, message: `Nothing is wrong with ${fault}` } });
  }
}

async function answer(request: Request): Promise<void> {
  const { id, method } = request;
  switch (method) {
    case "server/discover":
      if (fault === "dies-of-news") process.exit(4);
      send({ id, error: { code: -32_601, message: "Method not found" } });
      break;
    case "initialize":
      send({
        id,
        result: {
          protocolVersion: "2025-11-25",
          capabilities: fault === "bare" ? {} : { tools: { listChanged: true } },
          serverInfo: { name: "scripted", version: "0" },
        },
      });
      break;
    case "tools/list":
      if (fault === "dies-at-list" && isFirst) process.exit(6);
      send({ id, result: listOf(request.params?.["cursor"] as string | undefined) });
      break;
    case "tools/call":
      await call(request);
      break;
    default:
      if (id !== undefined) send({ id, error: { code: -32_601, message: "Method not found" } });
  }
}

if (fault === "dies") {
  process.stderr.write("cannot find the moon", () => process.exit(11));
} else {
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as Request;
    if (fault === "long-id" && request.method === undefined)
      send({ id: asking, result: text(String(request.id).replaceAll("!", "")) });
    else if (fault !== "silent" && request.method !== undefined) await answer(request);
  }
}
