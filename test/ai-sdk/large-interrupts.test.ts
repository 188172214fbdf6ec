/** Interrupts with inputs of many characters: known at once by their seal, and never gone on with, or told of, if altered. */
import { generateText, type ModelMessage, tool } from "ai";
import * as codeMode from "codecell/ai";
import {
  type CodeModeApprovalInterrupt,
  type CodeModeInterrupt,
  continueCodeModeApproval,
  continueCodeModeApprovals,
  continueCodeModeInterrupt,
  continueCodeModeInterrupts,
  createCodeModeTool,
  isCodeModeInterrupt,
  replaceCodeModeInterruptResult,
  runCodeMode,
  withCodeModeApprovals,
  wrapToolLoopAgentForCodeModeApprovals,
} from "codecell/ai";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { answers, messagesOf, requestsIn } from "./conversation.ts";
import { scriptedModel } from "./scripted-model.ts";

const written: string[] = [];
const tools = {
  write: tool({
    inputSchema: z.object({ text: z.string() }),
    needsApproval: true,
    execute: async ({ text }) => {
      written.push(text);
      return text.length;
    },
  }),
};
const SIZE = 100_000;
const [SHOWN, OTHER] = ["a".repeat(SIZE), "b".repeat(SIZE)];
const LARGE = `return await tools.write({ text: "a".repeat(${SIZE}) })`;
const SMALL = `return await tools.write({ text: "a" })`;

beforeEach(() => {
  written.length = 0;
});

async function interruptOf(js: string): Promise<CodeModeApprovalInterrupt> {
  const options = { approval: { mode: "interrupt" } } as const;
  const output = await runCodeMode({
    js,
    tools,
    options,
    toolExecutionOptions: { toolCallId: "c", messages: [] },
  });
  return JSON.parse(JSON.stringify(output)) as CodeModeApprovalInterrupt;
}

type Change = readonly [what: string, (interrupt: CodeModeApprovalInterrupt) => object];
const inContinuation =
  (change: (continuation: CodeModeInterrupt["continuation"]) => object): Change[1] =>
  (interrupt) => ({
    ...interrupt,
    continuation: { ...interrupt.continuation, ...change(interrupt.continuation) },
  });
const inPending = (change: object): Change[1] =>
  inContinuation(({ pending }) => ({ pending: pending.map((one) => ({ ...one, ...change })) }));
const inBoth =
  (change: object): Change[1] =>
  (interrupt) => ({ ...inPending(change)(interrupt), ...change });

const CONTENT: readonly Change[] = [
  ["the input", (one) => ({ ...one, input: { text: OTHER } })],
  ["the input, for a small one", (one) => ({ ...one, input: { text: "b" } })],
  ["the pending input", inPending({ input: { text: OTHER } })],
  ["both inputs", inBoth({ input: { text: OTHER } })],
  ["both inputs, for small ones", inBoth({ input: { text: "b" } })],
  ["both tools", inBoth({ toolName: "read" })],
  ["the run", inContinuation(({ runId }) => ({ runId: `${runId}x` }))],
  ["the reason", (one) => ({ ...one, payload: { ...one.payload, reason: "harmless" } })],
];
const FACTS: readonly Change[] = [
  ["interruptId", (one) => ({ ...one, interruptId: "c:tool-2:interrupt" })],
  ["toolName", (one) => ({ ...one, toolName: "read" })],
  ["toolCallId", (one) => ({ ...one, toolCallId: "c:tool-2" })],
  ["outerToolCallId", (one) => ({ ...one, outerToolCallId: "d" })],
  ["the kind of payload", (one) => ({ ...one, payload: { kind: "other" } })],
  ["no payload", (one) => ({ ...one, payload: null })],
  ["continuation.version", inContinuation(() => ({ version: 1 }))],
  ["continuation.token", inContinuation(({ token }) => ({ token: `${token.slice(0, -4)}AAAA` }))],
  ["continuation.expiresAtMs", inContinuation(({ expiresAtMs }) => ({ expiresAtMs: expiresAtMs + 1 }))],
  ["continuation.seal", inContinuation(({ seal }) => ({ seal: `${seal.slice(0, -4)}AAAA` }))],
  ["no pending call", inContinuation(() => ({ pending: [] }))],
  ["a pending call that is null", inContinuation(({ pending }) => ({ pending: [null, ...pending] }))],
];

const refused = expect.objectContaining({ name: "CodeModeProtocolError" }) as Error;

describe("a large interrupt", () => {
  test("is known at once, and goes on", async () => {
    const interrupt = await interruptOf(LARGE);
    expect(isCodeModeInterrupt(interrupt)).toBe(true);
    expect(codeMode.isCodeModeApprovalInterrupt(interrupt)).toBe(true);
    expect(codeMode.unwrapCodeModeResult(interrupt).status).toBe("interrupted");
    expect(codeMode.getPendingCodeModeInterrupts(interrupt)).toEqual([interrupt]);
    const approvalResponse = { approvalId: interrupt.interruptId, approved: true };
    expect(await continueCodeModeApproval({ interrupt, approvalResponse, tools })).toBe(SIZE);
    expect(written).toEqual([SHOWN]);
  });

  test.each([...CONTENT, ...FACTS])(
    "[suspend:sealed] with another content is refused by all that go on with it: %s",
    async (_, change) => {
      const original = await interruptOf(LARGE);
      const interrupt = change(original) as CodeModeApprovalInterrupt;
      const { interruptId, continuation } = interrupt;
      const resolution = { approved: true };
      const approvalResponse = { approvalId: interruptId, approved: true };
      for (const go of [
        () => continueCodeModeInterrupt({ interrupt, resolution, tools }),
        () => continueCodeModeInterrupts({ interrupt, resolutions: { [interruptId]: resolution }, tools }),
        () => continueCodeModeApproval({ interrupt, approvalResponse, tools }),
        () => continueCodeModeApprovals({ interrupt, approvalResponses: [approvalResponse], tools }),
      ]) {
        await expect(go()).rejects.toEqual(refused);
      }
      const isWhole = JSON.stringify(continuation) === JSON.stringify(original.continuation);
      const interruptResolution = { interruptId: original.interruptId, resolution };
      if (!isWhole) {
        const again = runCodeMode({ js: LARGE, tools, continuation, interruptResolution });
        await expect(again).rejects.toEqual(refused);
      }
      expect(written).toEqual([]);
    },
  );

  test.each(FACTS)("is refused at once if a fact was altered: %s", async (_, change) => {
    const changed = change(await interruptOf(LARGE)) as CodeModeInterrupt;
    expect(isCodeModeInterrupt(changed)).toBe(false);
    expect(codeMode.unwrapCodeModeResult(changed).status).toBe("completed");
    expect(() => codeMode.getPendingCodeModeInterrupts(changed)).toThrow(codeMode.CodeModeProtocolError);
  });

  test.each(CONTENT)(
    "[suspend:sealed] is not told of by an agent with another content: %s",
    async (_, change) => {
      const original = await interruptOf(LARGE);
      const told = async (output: unknown): Promise<unknown[]> => {
        const given = { toolResults: [{ output }] };
        const agent = wrapToolLoopAgentForCodeModeApprovals({
          generate: async (): Promise<unknown> => ({ ...given }),
          stream: async (): Promise<unknown> => ({ toolResults: Promise.resolve(given.toolResults) }),
        });
        const { codeModeApproval, codeModeApprovalMessages } =
          (await agent.generate()) as codeMode.CodeModeApprovalResult;
        const streamed = (await agent.stream()) as { codeModeApproval: Promise<unknown> };
        return [codeModeApproval, codeModeApprovalMessages.length, await streamed.codeModeApproval];
      };
      expect(await told(original)).toEqual([original, 1, original]);
      expect(await told(change(original))).toEqual([undefined, 0, undefined]);
    },
  );

  test("[suspend:sealed] is not asked for, and gets no receipt, in a conversation that was altered", async () => {
    const { model } = scriptedModel([
      { call: "code_mode", input: { js: LARGE } },
      { say: "Done" },
      { say: "Done" },
    ]);
    const settings = withCodeModeApprovals({ model, tools: { code_mode: createCodeModeTool(tools) } });
    const stopWhen = ({ steps }: { steps: readonly unknown[] }): boolean => steps.length === 10;
    const go = async (messages: ModelMessage[]) => generateText({ ...settings, stopWhen, messages });
    const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
    const first = await go(messages);
    expect(requestsIn(first)).toHaveLength(1);
    messages.push(...messagesOf(first));
    const changed = JSON.parse(JSON.stringify(messages).replaceAll(SHOWN, OTHER)) as ModelMessage[];
    // As if nobody had been asked yet.
    const fresh = await go(changed.slice(0, 3));
    expect(requestsIn(fresh)).toEqual([]);
    const approved = await go([...changed, answers(requestsIn(first), [true])]);
    expect([approved.text, written]).toEqual(["Done", []]);
  });
});

describe("a small interrupt", () => {
  test.each([...CONTENT, ...FACTS])("is refused at once if it was altered: %s", async (_, change) => {
    const interrupt = await interruptOf(SMALL);
    expect(isCodeModeInterrupt(interrupt)).toBe(true);
    expect(isCodeModeInterrupt(change(interrupt))).toBe(false);
  });
});

describe("what replaces an interrupt in messages", () => {
  const replacedBy = async (output: unknown): Promise<unknown> => {
    const interrupt = await interruptOf(SMALL);
    const part = {
      type: "tool-result",
      toolCallId: "c",
      toolName: "code_mode",
      output: { type: "json", value: interrupt },
    };
    const messages = [{ role: "tool", content: [part] }] as unknown as ModelMessage[];
    const [message] = replaceCodeModeInterruptResult(messages, interrupt, output);
    return (message as unknown as { content: { output: unknown }[] }).content[0]?.output;
  };

  test("is a copy if the output is small", async () => {
    const output = { list: [1, undefined, { a: undefined, at: new Date(0) }] };
    const value = { list: [1, null, { at: "1970-01-01T00:00:00.000Z" }] };
    expect(await replacedBy(output)).toStrictEqual({ type: "json", value });
    const plain = { a: [1] };
    expect(((await replacedBy(plain)) as { value: unknown }).value).not.toBe(plain);
  });

  test("is the large output itself if it is JSON, and a copy if it is not", async () => {
    const large = { text: SHOWN, rest: [null, true, 1.5, { a: {} }] };
    expect(((await replacedBy(large)) as { value: unknown }).value).toBe(large);
    const odd = { ...large, at: new Date(0), none: undefined, call: () => 1, not: Number.NaN };
    const value = { ...large, at: "1970-01-01T00:00:00.000Z", not: null };
    expect(await replacedBy(odd)).toStrictEqual({ type: "json", value });
    const cyclic: Record<string, unknown> = { ...large };
    cyclic["self"] = cyclic;
    expect(await replacedBy(cyclic)).toStrictEqual({ type: "json", value: null });
    expect(await replacedBy(SHOWN)).toStrictEqual({ type: "text", value: SHOWN });
  });

  test("may be the next interrupt, of any size", async () => {
    for (const js of [SMALL, LARGE]) {
      const next = await interruptOf(js);
      expect(await replacedBy(next)).toStrictEqual({ type: "json", value: next });
    }
  });
});
