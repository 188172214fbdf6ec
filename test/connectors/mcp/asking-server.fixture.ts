/**
 * An MCP server in the older protocol, written by hand, that asks its client whatever its tools are told to, and logs. The
 * tool gives back what the client answered. It tells the test what happens at ASKING_CONTROL.
 */
import { createInterface } from "node:readline";

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly requestId?: number | string;
    readonly capabilities?: unknown;
    readonly arguments?: Readonly<Record<string, unknown>>;
  };
  readonly result?: unknown;
  readonly error?: unknown;
}

const control = process.env["ASKING_CONTROL"] ?? "";
const tell = async (event: string): Promise<boolean> =>
  (await fetch(`${control}/${event}`, { method: "POST" })).ok;

const answered = new Map<string, (answer: unknown) => void>();
let asked = 0;
let capabilities: unknown;
let later: unknown;

const send = (message: object): void => {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
};

function ask(method: unknown, params: unknown): Promise<unknown> {
  const id = `asked-${asked++}`;
  send({ id, method, params });
  return new Promise((resolve) => {
    answered.set(id, resolve);
  });
}

async function call(name: string, input: Readonly<Record<string, unknown>>): Promise<unknown> {
  switch (name) {
    case "ask": {
      const { method, params, times = 1 } = input;
      const answers = Array.from({ length: Number(times) }, () => ask(method, params));
      return { capabilities, answers: await Promise.all(answers) };
    }
    case "log":
      for (let sent = 0; sent < Number(input["times"] ?? 1); sent++)
        send({ method: "notifications/message", params: input["params"] });
      return {};
    case "ask-later":
      // Out of nowhere: the test says when this server is asked nothing any more.
      void (async () => {
        while (!(await tell("waiting")));
        later = await ask(input["method"], input["params"]);
        await tell("answered");
      })();
      return {};
    case "later":
      return { later };
    default:
      return {};
  }
}

async function answer({ id, method, params }: Message): Promise<void> {
  const tool = (name: string): object => ({ name, inputSchema: { type: "object" } });
  switch (method) {
    case "initialize":
      ({ capabilities } = params ?? {});
      send({
        id,
        result: {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {}, logging: {} },
          serverInfo: { name: "asking", version: "0" },
        },
      });
      break;
    case "logging/setLevel":
      send({ id, result: {} });
      break;
    case "tools/list":
      send({ id, result: { tools: ["ask", "log", "ask-later", "later"].map(tool) } });
      break;
    case "tools/call": {
      const structuredContent = await call(params?.name ?? "", params?.arguments ?? {});
      send({ id, result: { content: [], structuredContent } });
      break;
    }
    case undefined:
    default:
      if (id !== undefined) send({ id, error: { code: -32_601, message: "Method not found" } });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line) as Message;
  if (message.method === undefined)
    answered.get(String(message.id))?.(
      message.error === undefined ? message.result : { error: message.error },
    );
  else void answer(message);
}
