/** Approvals of a program's calls, asked for by the AI SDK itself; with both generations of it. */
import { generateText, type ModelMessage, tool } from "ai";
import {
  type CodeModeToolExecutionOptions,
  continueCodeModeInterrupt,
  createCodeModeTool,
  getCodeModeInterrupt,
  replaceCodeModeInterruptResult,
  requestCodeModeInterrupt,
  setCodeModeContinuationSigningKey,
  withCodeModeApprovals,
} from "codecell/ai";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { answers, messagesOf, requestsIn } from "./conversation.ts";
import { deleted, deleteFile, FOREVER, program, read, readFile } from "./files.ts";
import { type Move, type ScriptedModel, scriptedModel } from "./scripted-model.ts";

const askHost = tool({
  inputSchema: z.object({}),
  execute: async (_, options): Promise<unknown> => {
    const { codeModeInterrupt: answered } = options as CodeModeToolExecutionOptions;
    return answered?.resolution ?? requestCodeModeInterrupt({ kind: "host/question" });
  },
});

function settingsFor(scripted: ScriptedModel) {
  return withCodeModeApprovals({
    model: scripted.model,
    tools: { code_mode: createCodeModeTool({ deleteFile, readFile, askHost }) },
    stopWhen: FOREVER,
  });
}

/** Over generateText: what is asked for, and what comes of the answers, turn by turn. */
async function converse(moves: readonly Move[], ...turns: readonly (readonly (boolean | string)[])[]) {
  const scripted = scriptedModel(moves);
  const settings = settingsFor(scripted);
  const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
  const asked: unknown[][] = [];
  let result = await generateText({ ...settings, messages });
  messages.push(...messagesOf(result));
  for (const given of turns) {
    const requests = requestsIn(result);
    asked.push(requests.map(({ toolCall }) => toolCall.input));
    messages.push(answers(requests, given));
    result = await generateText({ ...settings, messages });
    messages.push(...messagesOf(result));
  }
  return { scripted, settings, messages, asked, result };
}

/** The program's output as its model was shown it. */
function outputShown({ requests }: ScriptedModel, outerToolCallId = "call-1"): unknown {
  const parts = requests
    .flatMap(({ prompt }) => prompt)
    .flatMap(({ role, content }) => (role === "tool" ? content : []));
  return parts.findLast((part) => part.type === "tool-result" && part.toolCallId === outerToolCallId);
}

beforeEach(() => {
  deleted.length = 0;
  read.length = 0;
});

describe("generateText", () => {
  test("a program's call is asked for under its own name, and the program goes on where it stopped", async () => {
    const js = `const text = await tools.readFile({ path: "a" });
      const { gone } = await tools.deleteFile({ path: "a" });
      return { text, gone }`;
    const { scripted, asked, result } = await converse([program(js), { say: "Done" }], [true]);
    expect(asked).toEqual([[{ path: "a" }]]);
    expect(result.text).toBe("Done");
    expect({ deleted, read }).toEqual({ deleted: ["a"], read: ["a"] });
    expect(outputShown(scripted)).toMatchObject({
      output: { type: "json", value: { text: "text of a", gone: "a" } },
    });
  });

  test("the user is asked before anything else is done", async () => {
    const scripted = scriptedModel([program(`return await tools.deleteFile({ path: "a" })`)]);
    const result = await generateText({ ...settingsFor(scripted), prompt: "Go" });
    expect(requestsIn(result)).toMatchObject([
      { toolCall: { toolName: "deleteFile", toolCallId: "call-1:tool-1", input: { path: "a" } } },
    ]);
    expect(result.finishReason).toBe("tool-calls");
    expect(deleted).toEqual([]);
  });

  test("a batch is asked for at once, and each call gets its own answer", async () => {
    const js = `const all = await Promise.allSettled(["a", "b", "c"].map((path) => tools.deleteFile({ path })));
      return all.map(({ value, reason }) => value?.gone ?? reason.message)`;
    const { scripted, asked } = await converse([program(js), { say: "Done" }], [true, "Not this one", true]);
    expect(asked).toEqual([[{ path: "a" }, { path: "b" }, { path: "c" }]]);
    // Calls that go on side by side are executed in any order.
    expect(deleted.toSorted()).toEqual(["a", "c"]);
    expect(outputShown(scripted)).toMatchObject({
      output: { value: ["a", expect.stringContaining("Not this one"), "c"] },
    });
  });

  test("a program that asks again is paused again", async () => {
    const js = `await tools.deleteFile({ path: "a" });
      await tools.deleteFile({ path: "b" });
      return "both"`;
    const { scripted, asked, messages } = await converse([program(js), { say: "Done" }], [true], [true]);
    expect(asked).toEqual([[{ path: "a" }], [{ path: "b" }]]);
    expect(deleted).toEqual(["a", "b"]);
    expect(outputShown(scripted)).toMatchObject({ output: { value: "both" } });
    expect(JSON.stringify(messages)).toContain("code-mode-interrupt");
  });

  test("two programs of one step are asked for together and go on together", async () => {
    const two = ["a", "b"].map((path) => ({
      call: "code_mode",
      input: { js: `return await tools.deleteFile({ path: "${path}" })` },
    }));
    const { scripted, asked } = await converse([two, { say: "Done" }], [true, false]);
    expect(asked).toEqual([[{ path: "a" }, { path: "b" }]]);
    expect(deleted).toEqual(["a"]);
    expect(outputShown(scripted)).toMatchObject({ output: { value: { gone: "a" } } });
    expect(outputShown(scripted, "call-1-1")).toMatchObject({ output: { type: "error-text" } });
  });

  test("the provider sees neither tokens, receipts, nor tools that only programs have", async () => {
    const js = `await tools.deleteFile({ path: "a" }); return await tools.deleteFile({ path: "b" })`;
    const { scripted } = await converse([program(js), { say: "Done" }], [true], ["No"]);
    expect(scripted.requests.map(({ tools }) => tools?.map(({ name }) => name))).toEqual([
      ["code_mode"],
      ["code_mode"],
    ]);
    expect(scripted.requests[1]?.prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    for (const secret of ["code-mode-interrupt", "token", "receipt", "code-mode-approved", "resume"]) {
      expect(scripted.sent()).not.toContain(secret);
    }
  });

  test("later turns show the program and its output once", async () => {
    const { scripted, settings, messages } = await converse(
      [program(`return await tools.deleteFile({ path: "a" })`), { say: "Done" }, { say: "Again" }],
      [true],
    );
    messages.push({ role: "user", content: "And?" });
    const { text } = await generateText({ ...settings, messages });
    expect(text).toBe("Again");
    expect(scripted.requests[2]?.prompt.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
    expect(deleted).toEqual(["a"]);
  });

  test("later turns show the program and its output even if the key has changed", async () => {
    const js = `await tools.deleteFile({ path: "a" }); return await tools.deleteFile({ path: "b" })`;
    const { scripted, settings, messages } = await converse(
      [program(js), { say: "Done" }, { say: "Again" }],
      [true],
      [true],
    );
    messages.push({ role: "user", content: "And?" });
    setCodeModeContinuationSigningKey("another secret of enough bytes");
    await generateText({ ...settings, messages });
    setCodeModeContinuationSigningKey();
    const roles = scripted.requests[2]?.prompt.map(({ role }) => role);
    expect(roles).toEqual(["user", "assistant", "tool", "assistant", "user"]);
    expect(outputShown(scripted)).toMatchObject({ output: { value: { gone: "b" } } });
  });

  test("programs that need approval to start need none to go on", async () => {
    const scripted = scriptedModel([
      program(`return await tools.deleteFile({ path: "a" })`),
      { say: "Done" },
    ]);
    const tools = { code_mode: { ...createCodeModeTool({ deleteFile }), needsApproval: true } };
    const settings = withCodeModeApprovals({ model: scripted.model, tools, stopWhen: FOREVER });
    const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
    const asked: string[] = [];
    for (let turn = 0; turn < 2; turn++) {
      const result = await generateText({ ...settings, messages });
      asked.push(...requestsIn(result).map(({ toolCall }) => toolCall.toolName));
      messages.push(...messagesOf(result), answers(requestsIn(result), [true]));
    }
    const { text } = await generateText({ ...settings, messages });
    expect([text, asked, deleted]).toEqual(["Done", ["code_mode", "deleteFile"], ["a"]]);
  });

  test("one step at a time: each call of generateText goes one step further", async () => {
    const scripted = scriptedModel([
      program(`return await tools.deleteFile({ path: "a" })`),
      { say: "Done" },
    ]);
    const { stopWhen: _, ...settings } = settingsFor(scripted);
    const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
    const step = async () => {
      const result = await generateText({ ...settings, messages });
      messages.push(...messagesOf(result));
      return result;
    };
    const started = await step();
    expect(requestsIn(started)).toEqual([]);
    const asked = await step();
    expect(requestsIn(asked)).toHaveLength(1);
    messages.push(answers(requestsIn(asked), [true]));
    const resumed = await step();
    expect([resumed.text, deleted]).toEqual(["", ["a"]]);
    expect((await step()).text).toBe("Done");
    expect(scripted.isOver()).toBe(true);
  });

  test("a user who writes something instead of answering is not asked again, and nothing is executed", async () => {
    const scripted = scriptedModel([
      program(`return await tools.deleteFile({ path: "a" })`),
      { say: "As you wish" },
    ]);
    const settings = settingsFor(scripted);
    const started = await generateText({
      ...settings,
      prompt: "Go",
      stopWhen: ({ steps }) => steps.length === 1,
    });
    const messages: ModelMessage[] = [
      { role: "user", content: "Go" },
      ...messagesOf(started),
      { role: "user", content: "Leave it" },
    ];
    const { text } = await generateText({ ...settings, messages });
    expect(text).toBe("As you wish");
    expect(deleted).toEqual([]);
    expect(outputShown(scripted)).toMatchObject({
      output: { type: "error-text", value: expect.stringContaining('deleteFile({"path":"a"})') },
    });
    expect(scripted.sent()).not.toContain("token");
  });

  test("what else a program waits for is left to the host, and the model is not kept from going on", async () => {
    const js = `return await Promise.all([tools.deleteFile({ path: "a" }), tools.askHost({})])`;
    const { scripted, settings, result, messages } = await converse(
      [program(js), { say: "Waiting" }, { say: "Done" }],
      [true],
    );
    expect(result.text).toBe("Waiting");
    expect(deleted).toEqual(["a"]);
    expect(outputShown(scripted)).toMatchObject({
      output: { type: "error-text", value: expect.stringContaining("host/question") },
    });
    expect(scripted.sent()).not.toContain("token");
    // The host finds out, goes on with the program, and puts what it came to where the interrupt was.
    const interrupt = getCodeModeInterrupt(messages.at(-2));
    if (interrupt === undefined) throw new Error("The interrupt is not there");
    const tools = { deleteFile, askHost };
    const output = await continueCodeModeInterrupt({ interrupt, tools, resolution: "an answer" });
    expect(output).toEqual([{ gone: "a" }, "an answer"]);
    const replaced = replaceCodeModeInterruptResult(messages.slice(0, -1), interrupt, output);
    expect((await generateText({ ...settings, messages: replaced })).text).toBe("Done");
    expect(scripted.requests[2]?.prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(outputShown(scripted)).toMatchObject({ output: { value: [{ gone: "a" }, "an answer"] } });
    expect(scripted.sent()).not.toContain("token");
  });

  test("a provider that uses an id of a call again is understood", async () => {
    const again = (path: string): Move => ({
      id: "same",
      call: "code_mode",
      input: { js: `return await tools.deleteFile({ path: "${path}" })` },
    });
    const { scripted, asked, result } = await converse(
      [again("a"), again("b"), { say: "Done" }],
      [true],
      [true],
    );
    expect(asked).toEqual([[{ path: "a" }], [{ path: "b" }]]);
    expect([result.text, deleted]).toEqual(["Done", ["a", "b"]]);
    const prompt = JSON.stringify(scripted.requests[2]?.prompt);
    expect([prompt.includes('{"gone":"a"}'), prompt.includes('{"gone":"b"}')]).toEqual([true, true]);
  });

  test("errors and log lines of a continued program belong to its own call", async () => {
    const js = `console.log("before"); await tools.deleteFile({ path: "a" });
      console.log("after"); throw new RangeError("too far")`;
    const { scripted } = await converse([program(js), { say: "Done" }], [true]);
    expect(outputShown(scripted)).toMatchObject({
      output: { type: "error-text", value: expect.stringMatching(/too far[^]*after/u) },
    });
  });

  test("a call of the model that needs approval and a program of the same step come one after the other", async () => {
    const scripted = scriptedModel([
      [
        { call: "deleteFile", input: { path: "direct" } },
        { call: "code_mode", input: { js: `return await tools.deleteFile({ path: "nested" })` } },
      ],
      { say: "Done" },
    ]);
    const settings = withCodeModeApprovals({
      model: scripted.model,
      tools: { code_mode: createCodeModeTool({ deleteFile }), deleteFile },
      stopWhen: FOREVER,
    });
    const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
    const asked: unknown[] = [];
    for (let turn = 0; turn < 2; turn++) {
      const result = await generateText({ ...settings, messages });
      asked.push(requestsIn(result).map(({ toolCall }) => toolCall.input));
      messages.push(...messagesOf(result), answers(requestsIn(result), [true]));
    }
    expect((await generateText({ ...settings, messages })).text).toBe("Done");
    expect(asked).toEqual([[{ path: "direct" }], [{ path: "nested" }]]);
    expect(deleted).toEqual(["direct", "nested"]);
  });
});
