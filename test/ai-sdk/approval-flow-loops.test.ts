/** All loops of the AI SDK, and what else their settings say, with approvals of a program's calls. */
import { generateText, type ModelMessage, streamText, ToolLoopAgent } from "ai";
import { createCodeModeTool, withCodeModeApprovals } from "codecell/ai";
import { beforeEach, expect, test } from "vitest";
import { answers, messagesOf, requestsIn } from "./conversation.ts";
import { deleted, deleteFile, FOREVER, program } from "./files.ts";
import { IS_AI_6, type ScriptedModel, scriptedModel } from "./scripted-model.ts";

function settingsFor(scripted: ScriptedModel) {
  return withCodeModeApprovals({
    model: scripted.model,
    tools: { code_mode: createCodeModeTool({ deleteFile }) },
    stopWhen: FOREVER,
  });
}

beforeEach(() => {
  deleted.length = 0;
});

test("toolChoice and activeTools hold for the model's steps only", async () => {
  const scripted = scriptedModel([program(`return await tools.deleteFile({ path: "a" })`), { say: "Done" }]);
  const settings = { ...settingsFor(scripted), activeTools: ["code_mode" as const] };
  const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
  const toolChoice = { type: "tool", toolName: "code_mode" } as const;
  const first = await generateText({ ...settings, messages, toolChoice });
  messages.push(...messagesOf(first), answers(requestsIn(first), [true]));
  const second = await generateText({ ...settings, messages, toolChoice: "none" });
  expect([deleted, second.text]).toEqual([["a"], "Done"]);
  expect(scripted.requests.map((request) => request.toolChoice?.type)).toEqual(["tool", "none"]);
});

test("a program goes on also in a step for which prepareStep gives another model", async () => {
  const other = scriptedModel([{ say: "Other" }]);
  const scripted = scriptedModel([program(`return await tools.deleteFile({ path: "a" })`)]);
  const settings = withCodeModeApprovals({
    model: scripted.model,
    tools: { code_mode: createCodeModeTool({ deleteFile }) },
    stopWhen: FOREVER,
    prepareStep: ({ messages }: { messages: ModelMessage[] }) =>
      messages.length === 1 ? {} : { model: other.model },
  });
  const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
  const first = await generateText({ ...settings, messages });
  messages.push(...messagesOf(first), answers(requestsIn(first), [true]));
  expect((await generateText({ ...settings, messages })).text).toBe("Other");
  expect(deleted).toEqual(["a"]);
  expect(other.sent()).not.toContain("token");
});

test("streamText asks, and goes on", async () => {
  const scripted = scriptedModel([program(`return await tools.deleteFile({ path: "a" })`), { say: "Done" }]);
  const settings = settingsFor(scripted);
  const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
  const first = streamText({ ...settings, messages });
  const content = await first.content;
  messages.push(...(await responseMessagesOf(first)), answers(requestsIn({ content }), [true]));
  const second = streamText({ ...settings, messages });
  expect(await second.text).toBe("Done");
  expect(deleted).toEqual(["a"]);
  expect(scripted.sent()).toContain('"value":{"gone":"a"}');
});

async function responseMessagesOf(result: object): Promise<ModelMessage[]> {
  const { response, responseMessages } = result as ReturnType<typeof streamText> & {
    responseMessages: PromiseLike<ModelMessage[]>;
  };
  return IS_AI_6 ? (await response).messages : responseMessages;
}

test("a ToolLoopAgent asks, and goes on, both ways", async () => {
  const js = `await tools.deleteFile({ path: "a" }); return await tools.deleteFile({ path: "b" })`;
  const scripted = scriptedModel([program(js), { say: "Done" }]);
  const agent = new ToolLoopAgent(settingsFor(scripted));
  const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
  const first = await agent.generate({ messages });
  messages.push(...messagesOf(first), answers(requestsIn(first), [true]));
  const second = await agent.stream({ messages });
  const content = await second.content;
  messages.push(...(await responseMessagesOf(second)), answers(requestsIn({ content }), [true]));
  expect((await agent.generate({ messages })).text).toBe("Done");
  expect(deleted).toEqual(["a", "b"]);
});
