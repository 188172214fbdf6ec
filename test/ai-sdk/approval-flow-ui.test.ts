/** Approvals in UI messages, as a chat has them: what is shown, answered, sent back, and shown then. */
import {
  convertToModelMessages,
  createAgentUIStream,
  readUIMessageStream,
  streamText,
  tool,
  ToolLoopAgent,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { createCodeModeTool, withCodeModeApprovals } from "codecell/ai";
import { beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { approveInUI, statesIn } from "./conversation.ts";
import { IS_AI_6, type Move, scriptedModel, type ScriptedModel } from "./scripted-model.ts";

const deleted: string[] = [];
let gate = Promise.withResolvers<void>();

const deleteFile = tool({
  inputSchema: z.object({ path: z.string() }),
  needsApproval: true,
  execute: async ({ path }) => {
    deleted.push(path);
    return { gone: path };
  },
});

const slow = tool({
  inputSchema: z.object({}),
  execute: async () => {
    await gate.promise;
    return "at last";
  },
});

beforeEach(() => {
  deleted.length = 0;
  gate = Promise.withResolvers();
});

const USER: UIMessage = { id: "1", role: "user", parts: [{ type: "text", text: "Go" }] };

function settingsFor(scripted: ScriptedModel) {
  return withCodeModeApprovals({
    model: scripted.model,
    tools: { code_mode: createCodeModeTool({ deleteFile, slow }) },
    stopWhen: ({ steps }: { steps: readonly unknown[] }) => steps.length === 10,
  });
}

/** One request of a chat: messages go out, a message comes back; through JSON, as over a network. */
async function turn(
  scripted: ScriptedModel,
  messages: readonly UIMessage[],
  onMessage: (message: UIMessage) => void = () => {},
): Promise<UIMessage> {
  const sent = JSON.parse(JSON.stringify(messages)) as UIMessage[];
  const settings = settingsFor(scripted);
  const result = streamText({
    ...settings,
    messages: await convertToModelMessages(sent, { tools: settings.tools }),
  });
  const stream = result.toUIMessageStream({
    originalMessages: sent,
    onError: (error) => {
      throw error;
    },
  }) as ReadableStream<UIMessageChunk>;
  const last = sent.at(-1);
  let message: UIMessage | undefined;
  const read = readUIMessageStream({ stream, ...(last?.role === "assistant" ? { message: last } : {}) });
  for await (const one of read) {
    message = one;
    onMessage(one);
  }
  if (message === undefined) throw new Error("Nothing came back");
  return message;
}

function program(js: string): Move {
  return { call: "code_mode", input: { js } };
}

function textOf({ parts }: UIMessage): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

test("a request is shown under the tool's own name; answered, the program goes on", async () => {
  const js = `const { gone } = await tools.deleteFile({ path: "a" }); return gone + " is gone"`;
  const scripted = scriptedModel([program(js), { say: "Done" }]);
  const asked = await turn(scripted, [USER]);
  expect(statesIn(asked)).toEqual(["code_mode: output-available", "deleteFile: approval-requested"]);
  expect(asked.parts.at(-1)).toMatchObject({ type: "tool-deleteFile", input: { path: "a" } });
  const done = await turn(scripted, [USER, approveInUI(asked, true)]);
  expect(statesIn(done)).toEqual([
    "code_mode: output-available",
    "deleteFile: output-available",
    "code_mode: output-available",
  ]);
  expect(done.parts.findLast(({ type }) => type === "tool-code_mode")).toMatchObject({ output: "a is gone" });
  expect([textOf(done), deleted]).toEqual(["Done", ["a"]]);
  expect(scripted.sent()).not.toContain("token");
});

test("a denial is shown as one, with its reason for the program", async () => {
  const js = `return await tools.deleteFile({ path: "a" }).catch(({ message }) => message)`;
  const scripted = scriptedModel([program(js), { say: "Kept" }, { say: "Still kept" }]);
  const asked = await turn(scripted, [USER]);
  const done = await turn(scripted, [USER, approveInUI(asked, false, "I need it")]);
  expect(statesIn(done)).toContain("deleteFile: output-denied");
  expect([textOf(done), deleted]).toEqual(["Kept", []]);
  expect(scripted.sent()).toContain("I need it");
  const again: UIMessage = { id: "2", role: "user", parts: [{ type: "text", text: "Sure?" }] };
  const later = await turn(scripted, [USER, done, again]);
  expect(textOf(later)).toBe("Still kept");
  expect(scripted.requests[2]?.prompt.map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "tool",
    "assistant",
    "user",
  ]);
});

// AI SDK 6 refuses such messages itself.
test.skipIf(IS_AI_6)("a user who writes a message instead of answering leaves the call unmade", async () => {
  const scripted = scriptedModel([
    program(`return await tools.deleteFile({ path: "a" })`),
    { say: "Fine, it stays" },
  ]);
  const asked = await turn(scripted, [USER]);
  const other: UIMessage = { id: "2", role: "user", parts: [{ type: "text", text: "No, wait" }] };
  const said = await turn(scripted, [USER, asked, other]);
  expect([textOf(said), deleted]).toEqual(["Fine, it stays", []]);
  expect(scripted.sent()).not.toContain("token");
});

test("calls of a program are seen while they run, before it waits and after", async () => {
  const js = `const [first] = await Promise.all([tools.slow({}), tools.deleteFile({ path: "a" })]);
    return [first, await tools.slow({})]`;
  const scripted = scriptedModel([program(js), { say: "Done" }]);
  const seen: string[] = [];
  /** Opens the gate once the call is seen to run, so that nothing goes on unseen. */
  const watch = (message: UIMessage): void => {
    for (const part of message.parts) {
      const { preliminary, output } = part as { preliminary?: boolean; output?: unknown };
      const { calls } = (output ?? {}) as { calls?: { toolName: string; status: string }[] };
      if (preliminary !== true || calls === undefined) continue;
      seen.push(...calls.map(({ toolName, status }) => `${toolName} ${status}`));
      if (calls.some(({ toolName, status }) => toolName === "slow" && status === "running")) gate.resolve();
    }
  };
  const asked = await turn(scripted, [USER], watch);
  expect(seen).toContain("slow running");
  seen.length = 0;
  gate = Promise.withResolvers();
  const done = await turn(scripted, [USER, approveInUI(asked, true)], watch);
  expect(seen).toContain("slow running");
  expect(seen.join()).toContain("deleteFile");
  expect([textOf(done), deleted]).toEqual(["Done", ["a"]]);
});

test("an agent's own UI stream, which checks the messages against the tools, takes the answers too", async () => {
  const scripted = scriptedModel([program(`return await tools.deleteFile({ path: "a" })`), { say: "Done" }]);
  const agent = new ToolLoopAgent(settingsFor(scripted));
  const request = async (uiMessages: readonly UIMessage[]): Promise<UIMessage> => {
    const sent = JSON.parse(JSON.stringify(uiMessages)) as UIMessage[];
    const stream = await createAgentUIStream({ agent, uiMessages: sent, originalMessages: sent as never });
    const last = sent.at(-1);
    const known = last?.role === "assistant" ? { message: last } : {};
    let message: UIMessage | undefined;
    const chunks = stream as ReadableStream<UIMessageChunk>;
    for await (const one of readUIMessageStream({ stream: chunks, ...known })) message = one;
    if (message === undefined) throw new Error("Nothing came back");
    return message;
  };
  const asked = await request([USER]);
  const done = await request([USER, approveInUI(asked, true)]);
  expect([textOf(done), deleted]).toEqual(["Done", ["a"]]);
});
