/** Calls that wait: what is shown of them is what is made of them, by the tool that was asked for. */
import { generateText, type ModelMessage, tool, type ToolSet } from "ai";
import { createHost } from "codecell";
import {
  type CodeModeApprovalInterrupt,
  type CodeModeToolExecutionOptions,
  continueCodeModeApproval,
  continueCodeModeInterrupt,
  createCodeModeTool,
  isCodeModeApprovalInterrupt,
  isCodeModeInterrupt,
  requestCodeModeInterrupt,
  runCodeMode,
  setMaxWorkers,
  withCodeModeApprovals,
} from "codecell/ai";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { answers, messagesOf, requestsIn } from "./conversation.ts";
import { scriptedModel } from "./scripted-model.ts";

function deleting(inputSchema: z.ZodType, made: unknown[] = []): ToolSet {
  const execute = async (input: unknown) => made.push(input);
  return { deleteFile: tool({ inputSchema, needsApproval: true, execute }) };
}

async function interruptedBy(input: object, tools: ToolSet): Promise<CodeModeApprovalInterrupt> {
  const js = `return await tools.deleteFile(${JSON.stringify(input)})`;
  const result = await runCodeMode({ js, tools, options: { approval: { mode: "interrupt" } } });
  if (!isCodeModeApprovalInterrupt(result)) throw new Error("Not interrupted");
  return result;
}

async function answered(
  interrupt: CodeModeApprovalInterrupt,
  tools: ToolSet,
  approved: boolean,
): Promise<unknown> {
  const approvalResponse = { approvalId: interrupt.interruptId, approved };
  return continueCodeModeApproval({ interrupt, approvalResponse, tools });
}

afterEach(() => {
  setMaxWorkers(undefined);
});

describe("the input that was approved", () => {
  test("is the one that is executed, where a schema makes another each time", async () => {
    let count = 0;
    const made: unknown[] = [];
    const tools = deleting(z.object({ path: z.string().default(() => `file-${++count}`) }), made);
    const interrupt = await interruptedBy({}, tools);
    await answered(interrupt, tools, true);
    expect(made).toEqual([interrupt.input]);
  });

  test("is not replaced by what middleware of a wrapped host makes of the call later", async () => {
    await using host = createHost({ workers: 1 });
    let more = 0;
    const decide = ({ input }: { input: unknown }) => ({
      rewrite: { path: `${(input as { path: string }).path}${++more}` },
    });
    const wrapped = new Proxy(host, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        return (options: object) => {
          const { middleware } = options as { middleware?: readonly unknown[] };
          const given =
            middleware === undefined ? options : { ...options, middleware: [{ decide }, ...middleware] };
          return Reflect.apply(member, target, [given]) as unknown;
        };
      },
    });
    const made: unknown[] = [];
    const tools = deleting(z.object({ path: z.string() }), made);
    const options = { host: wrapped, approval: { mode: "interrupt" as const } };
    const js = `return await tools.deleteFile({ path: "a" })`;
    const interrupt = await runCodeMode({ js, tools, options });
    if (!isCodeModeApprovalInterrupt(interrupt)) throw new Error("Not interrupted");
    expect(interrupt.input).toEqual({ path: "a1" });
    const approvalResponse = { approvalId: interrupt.interruptId, approved: true };
    await expect(continueCodeModeApproval({ interrupt, approvalResponse, tools, options })).rejects.toThrow(
      "another input than the one that was shown",
    );
    expect(made).toEqual([]);
  });

  test("is not replaced by what the schema of a later version makes of the call", async () => {
    const made: unknown[] = [];
    const interrupt = await interruptedBy({ path: "a" }, deleting(z.object({ path: z.string() })));
    const later = z.object({ path: z.string().transform((path) => `${path}/b`) });
    await expect(answered(interrupt, deleting(later, made), true)).rejects.toMatchObject({
      code: "CODE_MODE_PROTOCOL_ERROR",
      message: expect.stringContaining("another input than the one that was shown") as unknown,
    });
    expect(made).toEqual([]);
  });

  test("can be denied whatever has become of the schema", async () => {
    const interrupt = await interruptedBy({ path: "a" }, deleting(z.object({ path: z.string() })));
    await expect(answered(interrupt, deleting(z.object({ path: z.number() })), false)).rejects.toMatchObject({
      code: "CODE_MODE_TOOL_APPROVAL_DENIED",
    });
  });

  test("is the same when the tool itself interrupts afterwards", async () => {
    let count = 0;
    const made: unknown[] = [];
    const deleteFile = tool({
      inputSchema: z.object({ path: z.string().default(() => `file-${++count}`) }),
      needsApproval: true,
      execute: async (input, options) => {
        if ((options as CodeModeToolExecutionOptions).codeModeInterrupt !== undefined) made.push(input);
        else requestCodeModeInterrupt({ kind: "login" });
      },
    });
    const tools = { deleteFile };
    const shown = await interruptedBy({}, tools);
    const interrupt = await answered(shown, tools, true);
    if (!isCodeModeInterrupt(interrupt)) throw new Error("Not interrupted");
    await continueCodeModeInterrupt({ interrupt, resolution: {}, tools });
    expect(made).toEqual([shown.input]);
  });

  test("is shown with what JSON alone would lose", async () => {
    const made: unknown[] = [];
    const schema = z.object({
      paths: z.array(z.string()).transform((paths) => new Set(paths)),
      bytes: z.string().transform(BigInt),
      owners: z.array(z.tuple([z.string(), z.string()])).transform((owners) => new Map(owners)),
    });
    const tools = deleting(schema, made);
    const given = { paths: ["a"], bytes: "7", owners: [["a", "me"]] };
    const interrupt = await interruptedBy(given, tools);
    expect(interrupt.input).toEqual(given);
    await answered(interrupt, tools, true);
    expect(made).toEqual([{ paths: new Set(["a"]), bytes: 7n, owners: new Map([["a", "me"]]) }]);
  });
});

test("an interrupt whose payload cannot be stored fails where it is asked for", async () => {
  const cycle: { kind: string; self?: unknown } = { kind: "login" };
  cycle.self = cycle;
  for (const payload of [cycle, { kind: "login", at: 1n }, { kind: "login", toJSON: () => null }]) {
    const login = tool({
      inputSchema: z.object({}),
      execute: async (): Promise<unknown> => requestCodeModeInterrupt(payload),
    });
    const js = "return await tools.login({}).catch((error) => error.message)";
    expect(await runCodeMode({ js, tools: { login } })).toMatch(/Cannot interrupt code mode: the payload/u);
  }
});

test("one place is enough for one invocation after the other", async () => {
  setMaxWorkers(1);
  const tools = deleting(z.object({ path: z.string() }));
  for (let round = 0; round < 3; round++) {
    expect(await runCodeMode({ js: "return 1", tools })).toBe(1);
    await answered(await interruptedBy({ path: "a" }, tools), tools, true);
  }
});

test("a program goes on under the tool that started it only", async () => {
  const [ours, theirs]: [unknown[], unknown[]] = [[], []];
  const schema = z.object({ path: z.string() });
  const { model } = scriptedModel([
    { call: "ours", input: { js: `return await tools.deleteFile({ path: "a" })` } },
  ]);
  const settings = withCodeModeApprovals({
    model,
    tools: {
      ours: createCodeModeTool(deleting(schema, ours)),
      theirs: createCodeModeTool(deleting(schema, theirs)),
    },
  });
  const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
  messages.push(...messagesOf(await generateText({ ...settings, messages })));
  const tools = settings.tools as unknown as Record<
    string,
    { execute: (input: object, options: object) => unknown }
  >;
  const toolCallId = "call-1:tool-1";
  const value = (await tools["deleteFile"]?.execute({ path: "a" }, { toolCallId, messages })) as never;
  messages.push({
    role: "tool",
    content: [{ type: "tool-result", toolCallId, toolName: "deleteFile", output: { type: "json", value } }],
  });
  const resumed = async (name: string) =>
    tools[name]?.execute({ js: "", resume: "call-1" }, { toolCallId: "2", messages });
  await expect(resumed("theirs")).rejects.toThrow("no program of this tool");
  expect(await resumed("ours")).toBe(1);
  expect([ours.length, theirs.length]).toEqual([1, 0]);
});

test("a receipt is for one program, even if another waits with the same call under the same ids", async () => {
  const made: unknown[] = [];
  const schema = z.object({ path: z.string() });
  const toolCallId = "call-1:tool-1";
  const waiting = async () => {
    const { model } = scriptedModel([
      { call: "code_mode", input: { js: `return await tools.deleteFile({ path: "a" })` } },
    ]);
    const settings = withCodeModeApprovals({
      model,
      tools: { code_mode: createCodeModeTool(deleting(schema, made)) },
    });
    const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
    messages.push(...messagesOf(await generateText({ ...settings, messages })));
    const { deleteFile, code_mode: codeMode } = settings.tools as unknown as Record<
      "deleteFile" | "code_mode",
      { execute: (input: object, options: object) => unknown }
    >;
    const receipt = await deleteFile.execute({ path: "a" }, { toolCallId, messages });
    const resume = async (value: unknown) => {
      const output = { type: "json", value: value as never } as const;
      const part = { type: "tool-result", toolCallId, toolName: "deleteFile", output } as const;
      const history: ModelMessage[] = [...messages, { role: "tool", content: [part] }];
      return codeMode.execute({ js: "", resume: "call-1" }, { toolCallId: "2", messages: history });
    };
    return { receipt, resume };
  };
  const [one, other] = [await waiting(), await waiting()];
  await expect(one.resume(other.receipt)).rejects.toThrow("is not a receipt for the approved call");
  expect(made).toEqual([]);
  expect(await one.resume(one.receipt)).toBe(1);
});

test("a program that goes on from its memory alone has no outputs to tell a model of", async () => {
  const texts = Array.from({ length: 40 }, (_, n) =>
    Array.from({ length: 1000 }, (_none, at) => ((n * 7919 + at * 104_729) % 999_983).toString(36)).join(""),
  );
  const row = tool({
    inputSchema: z.object({ n: z.number() }),
    execute: async ({ n }) => ({ text: texts[n] ?? "" }),
    toModelOutput: (given: unknown) => ({
      type: "text",
      value: (given as { output: { text: string } }).output.text.slice(0, 1),
    }),
  });
  const js = `for (let n = 0; n < 40; n++) await tools.row({ n });
    return await tools.deleteFile({ path: "a" })`;
  const made: unknown[] = [];
  const { model, requests } = scriptedModel([{ call: "code_mode", input: { js } }, { say: "Done" }]);
  const settings = withCodeModeApprovals({
    model,
    tools: {
      code_mode: createCodeModeTool(
        { row, ...deleting(z.object({ path: z.string() }), made) },
        { modelOutput: { includeNestedToolOutputs: true, maxSummaryEntries: 64 } },
      ),
    },
    stopWhen: ({ steps }: { steps: readonly unknown[] }) => steps.length === 10,
  });
  const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
  const asked = await generateText({ ...settings, messages });
  messages.push(...messagesOf(asked), answers(requestsIn(asked), [true]));
  const result = await generateText({ ...settings, messages });
  expect([result.text, made]).toEqual(["Done", [{ path: "a" }]]);
  const told = JSON.stringify(requests[1]?.prompt.at(-1));
  expect(told).toContain(
    '"toolName":"row","toolCallId":"call-1:tool-1","status":"fulfilled","replayed":true}',
  );
});
