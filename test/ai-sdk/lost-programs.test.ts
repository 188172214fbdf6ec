/** Programs that wait for approvals and cannot go on: their hosts hear of it, and what can be mended is not lost. */
import { generateText, type ModelMessage, tool } from "ai";
import {
  type CodeModeLostProgram,
  createCodeModeTool,
  isCodeModeInterrupt,
  setCodeModeContinuationSigningKey,
  withCodeModeApprovals,
} from "codecell/ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { answers, messagesOf, requestsIn } from "./conversation.ts";
import { type Move, scriptedModel } from "./scripted-model.ts";

const KEY = "the first secret of this test";
const OTHER = "the second secret of this test";

const deleted: string[] = [];
const deleteFile = tool({
  inputSchema: z.object({ path: z.string() }),
  needsApproval: true,
  execute: async ({ path }) => deleted.push(path),
});
const listFiles = tool({ inputSchema: z.object({}), execute: async () => ["a"] });

const DELETE: Move = { call: "code_mode", input: { js: `return await tools.deleteFile({ path: "a" })` } };
const stopWhen = ({ steps }: { steps: readonly unknown[] }): boolean => steps.length === 10;

const lost: CodeModeLostProgram[] = [];
const onLost = (one: CodeModeLostProgram): number => lost.push(one);

function settingsFor(moves: readonly Move[], tools = { deleteFile, listFiles } as object) {
  const scripted = scriptedModel(moves);
  const codeMode = createCodeModeTool(tools as { listFiles: typeof listFiles }, { continuation: { onLost } });
  const settings = withCodeModeApprovals({ model: scripted.model, tools: { code_mode: codeMode }, stopWhen });
  return { scripted, settings };
}

/** A conversation in which a program has asked, and the user has said yes. */
async function approved(): Promise<ModelMessage[]> {
  const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
  const asked = await generateText({ ...settingsFor([DELETE]).settings, messages });
  return [...messages, ...messagesOf(asked), answers(requestsIn(asked), [true])];
}

beforeEach(() => {
  deleted.length = 0;
  lost.length = 0;
  setCodeModeContinuationSigningKey(KEY);
});
afterEach(() => {
  setCodeModeContinuationSigningKey();
  vi.restoreAllMocks();
});

describe("a program whose key is not there any more [suspend:lost]", () => {
  test("is told of to its host once, and warned of once for the whole process", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const messages = await approved();
    setCodeModeContinuationSigningKey(OTHER);
    for (let times = 1; times <= 2; times++) {
      const { settings } = settingsFor([{ say: "Done" }]);
      await generateText({ ...settings, messages });
      expect(lost).toHaveLength(times);
    }
    expect(lost[0]).toMatchObject({
      toolName: "code_mode",
      toolCallId: "call-1",
      code: "token_key",
      message: expect.stringContaining("setCodeModeContinuationSigningKey"),
    });
    expect(deleted).toEqual([]);
    expect(warned.mock.calls).toEqual([
      [
        expect.stringContaining("CODECELL_SEAL_KEY"),
        { type: "CodecellWarning", code: "CODECELL_CONTINUATION_KEY" },
      ],
    ]);
    // Its key is back.
    setCodeModeContinuationSigningKey([OTHER, KEY]);
    await generateText({ ...settingsFor([{ say: "Done" }]).settings, messages });
    expect(deleted).toEqual(["a"]);
  });

  test("is not told of again when the user has moved on", async () => {
    const messages = await approved();
    setCodeModeContinuationSigningKey(OTHER);
    messages.push({ role: "assistant", content: "I could not" }, { role: "user", content: "Never mind" });
    await generateText({ ...settingsFor([{ say: "Done" }]).settings, messages }).catch(() => undefined);
    expect(lost).toEqual([]);
  });

  test("goes on with the conversation if the hook throws", async () => {
    const messages = await approved();
    setCodeModeContinuationSigningKey(OTHER);
    const scripted = scriptedModel([{ say: "Done" }]);
    const throwing = (): never => {
      throw new Error("down");
    };
    const codeMode = createCodeModeTool({ deleteFile }, { continuation: { onLost: throwing } });
    const settings = withCodeModeApprovals({
      model: scripted.model,
      tools: { code_mode: codeMode },
      stopWhen,
    });
    expect((await generateText({ ...settings, messages })).text).toBe("Done");
  });
});

test("a program that was approved too late is told of [suspend:lost]", async () => {
  setCodeModeContinuationSigningKey(KEY, { maxAgeMs: 1000 });
  const messages = await approved();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
  try {
    await generateText({ ...settingsFor([{ say: "Done" }]).settings, messages });
  } finally {
    vi.useRealTimers();
  }
  expect(lost).toMatchObject([{ toolCallId: "call-1", code: "token_expired" }]);
  expect(deleted).toEqual([]);
});

describe("a program whose tool is not there any more [suspend:tools]", () => {
  test("is refused with the tool's name, and goes on from the same messages when it is back", async () => {
    const messages = await approved();
    const { settings, scripted } = settingsFor([{ say: "Done" }], { listFiles });
    await expect(generateText({ ...settings, messages })).rejects.toMatchObject({
      name: "CodeModeProtocolError",
      message: expect.stringContaining(
        `its call of "deleteFile" waits for a tool that "code_mode" does not have`,
      ),
    });
    expect(scripted.requests).toEqual([]);
    const done = await generateText({ ...settingsFor([{ say: "Done" }]).settings, messages });
    expect([done.text, deleted]).toEqual(["Done", ["a"]]);
  });
});

test("an interrupt under another key is none, which is not silent", async () => {
  const messages = await approved();
  setCodeModeContinuationSigningKey(OTHER);
  const [part] = (messages[2] as { content: { output: { value: unknown } }[] }).content;
  expect(isCodeModeInterrupt(part?.output.value)).toBe(false);
  setCodeModeContinuationSigningKey(KEY);
  expect(isCodeModeInterrupt(part?.output.value)).toBe(true);
});
