/** A server that lives for one request: messages come in, what it did and its new messages go out. */
import { text } from "node:stream/consumers";
import { generateText, type ModelMessage, tool } from "ai";
import { createCodeModeTool, setCodeModeContinuationSigningKey, withCodeModeApprovals } from "codecell/ai";
import { openSqliteStore } from "codecell/store/sqlite";
import { z } from "zod";
import { messagesOf, requestsIn } from "./conversation.ts";
import { scriptedModel } from "./scripted-model.ts";

const { messages, storePath } = JSON.parse(await text(process.stdin)) as {
  messages: ModelMessage[];
  storePath?: string;
};
setCodeModeContinuationSigningKey("the secret that all servers share");

const did: string[] = [];
const readFile = tool({
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => {
    did.push(`read ${path}`);
    return `text of ${path}`;
  },
});
const deleteFile = tool({
  inputSchema: z.object({ path: z.string() }),
  needsApproval: true,
  execute: async ({ path }) => {
    did.push(`deleted ${path}`);
    return path;
  },
});

const js = `const text = await tools.readFile({ path: "a" });
  const kept = { length: text.length };
  await tools.deleteFile({ path: "a" });
  return kept.length`;
const scripted = scriptedModel(
  messages.length === 1 ? [{ call: "code_mode", input: { js } }] : [{ say: "Done" }],
);
const store = storePath === undefined ? undefined : await openSqliteStore({ path: storePath });
const continuation = store === undefined ? {} : { continuation: { store } };
const result = await generateText({
  ...withCodeModeApprovals({
    model: scripted.model,
    tools: { code_mode: createCodeModeTool({ readFile, deleteFile }, continuation) },
    stopWhen: ({ steps }: { steps: readonly unknown[] }) => steps.length === 10,
  }),
  messages,
});
const answer = {
  did,
  messages: [...messages, ...messagesOf(result)],
  requests: requestsIn(result),
  sent: scripted.sent(),
};
process.stdout.write(JSON.stringify(answer));
