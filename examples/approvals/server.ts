/** The server's side: UI messages come in, the chunks of a UI message stream go out, one on a line. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { convertToModelMessages, isStepCount, jsonSchema, streamText, tool, type UIMessage } from "ai";
import { createCodeModeTool, withCodeModeApprovals } from "codecell/ai";
import { model } from "./scripted-model.ts";

const [, , folder = "."] = process.argv;

const listFiles = tool({
  description: "Names of all files",
  inputSchema: jsonSchema<object>({ type: "object" }),
  execute: async () => readdirSync(folder),
});

const deleteFile = tool({
  description: "Deletes a file for good",
  inputSchema: jsonSchema<{ name: string }>({
    type: "object",
    properties: { name: { type: "string" } },
    required: ["name"],
  }),
  execute: async ({ name }) => rmSync(join(folder, name)),
});

const settings = withCodeModeApprovals({
  model,
  tools: { code_mode: createCodeModeTool({ listFiles, deleteFile }) },
  toolApproval: { deleteFile: "user-approval" },
  stopWhen: isStepCount(10),
});

const messages = JSON.parse(await text(process.stdin)) as UIMessage[];
const result = streamText({
  ...settings,
  messages: await convertToModelMessages(messages, { tools: settings.tools }),
});
for await (const chunk of result.toUIMessageStream({ originalMessages: messages })) {
  console.log(JSON.stringify(chunk));
}
