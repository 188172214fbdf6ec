/** The browser's side of a chat: it shows what the agent wants to delete, the user answers, and it is checked. */
import { deepStrictEqual, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isToolUIPart, getToolName, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";

const folder = mkdtempSync(join(tmpdir(), "codecell-files-"));
for (const name of ["draft-1.txt", "draft-2.txt", "notes.txt"]) writeFileSync(join(folder, name), "…");

/** One request. The server is started for it and gone afterwards: what it knew is in the messages. */
async function send(messages: readonly UIMessage[]): Promise<UIMessage> {
  const server = spawn(
    process.execPath,
    [...process.execArgv, join(import.meta.dirname, "server.ts"), folder],
    {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, CODECELL_SEAL_KEY: KEY },
    },
  );
  server.stdin.end(JSON.stringify(messages));
  const lines = createInterface({ input: server.stdout });
  const stream = ReadableStream.from(toChunks(lines)) as ReadableStream<UIMessageChunk>;
  const last = messages.at(-1);
  let message: UIMessage | undefined;
  const known = last?.role === "assistant" ? { message: structuredClone(last) } : {};
  for await (const next of readUIMessageStream({ stream, ...known })) message = next;
  ok(message, "the server answered nothing");
  return message;
}

async function* toChunks(lines: AsyncIterable<string>): AsyncGenerator<UIMessageChunk> {
  for await (const line of lines) yield JSON.parse(line) as UIMessageChunk;
}

/** All servers have the same; `openssl rand -base64 32` makes one. */
const KEY = Buffer.alloc(32, "not a secret").toString("base64");

/** What a user interface shows of the tools. */
function show({ parts }: UIMessage): string[] {
  return parts.filter(isToolUIPart).map((part) => `${getToolName(part)}: ${part.state}`);
}

/** What `addToolApprovalResponse` of useChat does, for every request. */
function answer(message: UIMessage, isApproved: (input: unknown) => boolean): UIMessage {
  const parts = message.parts.map((part): UIMessage["parts"][number] => {
    if (!isToolUIPart(part) || part.state !== "approval-requested") return part;
    const approved = isApproved(part.input);
    console.log(`User:  ${approved ? "yes" : "no "} to ${getToolName(part)}(${JSON.stringify(part.input)})`);
    return { ...part, state: "approval-responded", approval: { ...part.approval, approved } };
  });
  return { ...message, parts };
}

try {
  const user: UIMessage = { id: "1", role: "user", parts: [{ type: "text", text: "Delete my drafts." }] };
  console.log("User:  Delete my drafts.");

  const asked = await send([user]);
  console.log(`Shown: ${show(asked).join(", ")}`);
  deepStrictEqual(show(asked), [
    "code_mode: output-available",
    "deleteFile: approval-requested",
    "deleteFile: approval-requested",
  ]);
  deepStrictEqual(readdirSync(folder).length, 3);

  const answered = answer(asked, (input) => (input as { name: string }).name === "draft-1.txt");
  const done = await send([user, answered]);
  const text = done.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  console.log(`Agent: ${text}`);
  deepStrictEqual(text, "I deleted draft-1.txt and kept draft-2.txt.");
  deepStrictEqual(readdirSync(folder), ["draft-2.txt", "notes.txt"]);
  console.log("\nAll as expected.");
} finally {
  rmSync(folder, { recursive: true, force: true });
}
