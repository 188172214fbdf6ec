/** What AI SDK 7 adds to approvals: statuses by configuration, and tools that are routed to code mode. */
import { generateText, isStepCount, type ModelMessage, tool, ToolLoopAgent } from "ai";
import {
  codeModeTool,
  createCodeModeTool,
  DIRECT_TOOL_CALL,
  experimental_codeModeTool,
  withCodeModeApprovals,
} from "codecell/ai";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { answers, requestsIn } from "./conversation.ts";
import { type Move, scriptedModel } from "./scripted-model.ts";

const deleted: string[] = [];

const deleteFile = tool({
  description: "Deletes a file",
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => {
    deleted.push(path);
    return { gone: path };
  },
});

const listFiles = tool({
  description: "Lists files",
  inputSchema: z.object({}),
  execute: async () => ["a", "b"],
});

function program(js: string): Move {
  return { call: "code_mode", input: { js } };
}

const DELETE_A = program(
  `return await tools.deleteFile({ path: "a" }).catch(({ name, message }) => name + ": " + message)`,
);

beforeEach(() => {
  deleted.length = 0;
});

describe("toolApproval", () => {
  const tools = { code_mode: createCodeModeTool({ deleteFile, listFiles }) };
  const stopWhen = isStepCount(10);

  test.each([
    ["not-applicable", ["a"], '{"gone":"a"}'],
    ["approved", ["a"], '{"gone":"a"}'],
    [{ type: "approved", reason: "trusted" }, ["a"], '{"gone":"a"}'],
    ["denied", [], "CodeModeToolApprovalDeniedError"],
    [{ type: "denied", reason: "never on Fridays" }, [], "never on Fridays"],
  ] as const)("%j is decided without asking", async (status, gone, shown) => {
    const scripted = scriptedModel([DELETE_A, { say: "Done" }]);
    const settings = withCodeModeApprovals({
      model: scripted.model,
      tools,
      stopWhen,
      toolApproval: { deleteFile: status },
    });
    const result = await generateText({ ...settings, prompt: "Go" });
    expect(requestsIn(result)).toEqual([]);
    expect([result.text, deleted]).toEqual(["Done", gone]);
    expect(scripted.sent().replaceAll("\\", "")).toContain(shown);
  });

  test.each([
    ["an object", { deleteFile: { type: "user-approval", reason: "It is gone for good" } as const }],
    [
      "a function for the tool",
      {
        deleteFile: (input: { path: string }, { runtimeContext }: { runtimeContext: unknown }) =>
          ({
            type: "user-approval",
            reason: `It is gone for good`,
            ...(input.path === "a" && (runtimeContext as { user: string }).user === "ana"
              ? {}
              : { reason: "wrong context" }),
          }) as const,
      },
    ],
    [
      "a function for all",
      ({ toolCall }: { toolCall: { toolName: string } }) =>
        toolCall.toolName === "deleteFile"
          ? ({ type: "user-approval", reason: "It is gone for good" } as const)
          : undefined,
    ],
  ])("user-approval by %s is asked for, with its reason", async (_, toolApproval) => {
    const scripted = scriptedModel([DELETE_A, { say: "Done" }]);
    const settings = withCodeModeApprovals({
      model: scripted.model,
      tools,
      stopWhen,
      runtimeContext: { user: "ana" },
      toolApproval: toolApproval as never,
      experimental_toolApprovalSecret: "secret of the server",
    });
    const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
    const asked = await generateText({ ...settings, messages });
    expect(requestsIn(asked)).toMatchObject([
      {
        toolCall: { toolName: "deleteFile", input: { path: "a" } },
        reason: "It is gone for good",
        signature: expect.any(String),
      },
    ]);
    messages.push(...asked.responseMessages, answers(requestsIn(asked), [true]));
    expect((await generateText({ ...settings, messages })).text).toBe("Done");
    expect(deleted).toEqual(["a"]);
  });

  test("a call that became forbidden while the user decided is not executed", async () => {
    const scripted = scriptedModel([DELETE_A, { say: "Done" }]);
    let status: "user-approval" | { type: "denied"; reason: string } = "user-approval";
    const settings = withCodeModeApprovals({
      model: scripted.model,
      tools,
      stopWhen,
      toolApproval: { deleteFile: () => status },
    });
    const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
    const asked = await generateText({ ...settings, messages });
    status = { type: "denied", reason: "The policy has changed" };
    messages.push(...asked.responseMessages, answers(requestsIn(asked), [true]));
    await generateText({ ...settings, messages });
    expect(deleted).toEqual([]);
    expect(scripted.sent()).toContain("The policy has changed");
  });

  test("the first decision to ask counts, even if a second one differs", async () => {
    const scripted = scriptedModel([DELETE_A]);
    let times = 0;
    const settings = withCodeModeApprovals({
      model: scripted.model,
      tools,
      stopWhen,
      toolApproval: { deleteFile: () => (times++ === 0 ? "user-approval" : "approved") },
    });
    const asked = await generateText({ ...settings, prompt: "Go" });
    expect(requestsIn(asked)).toHaveLength(1);
    expect(deleted).toEqual([]);
  });

  test("a call that became forbidden before it was shown goes on as denied", async () => {
    const scripted = scriptedModel([DELETE_A, { say: "Done" }]);
    let times = 0;
    const settings = withCodeModeApprovals({
      model: scripted.model,
      tools,
      stopWhen,
      toolApproval: {
        deleteFile: () => (times++ === 0 ? "user-approval" : { type: "denied", reason: "Too late" }),
      },
    });
    const result = await generateText({ ...settings, prompt: "Go" });
    expect([result.text, deleted]).toEqual(["Done", []]);
    expect(scripted.sent()).toContain("Too late");
  });

  test.each([
    ["by its entry", { code_mode: "user-approval", deleteFile: "user-approval" } as const],
    ["by a function for all", () => "user-approval" as const],
  ])("where programs need approval to start %s, they need none to go on", async (_, toolApproval) => {
    const scripted = scriptedModel([DELETE_A, { say: "Done" }]);
    const settings = withCodeModeApprovals({ model: scripted.model, tools, stopWhen, toolApproval });
    const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
    const asked: string[] = [];
    for (let turn = 0; turn < 2; turn++) {
      const result = await generateText({ ...settings, messages });
      asked.push(...requestsIn(result).map(({ toolCall }) => toolCall.toolName));
      messages.push(...result.responseMessages, answers(requestsIn(result), [true]));
    }
    const { text } = await generateText({ ...settings, messages });
    expect([text, asked, deleted]).toEqual(["Done", ["code_mode", "deleteFile"], ["a"]]);
  });

  test("calls that the model makes itself are decided as ever", async () => {
    const scripted = scriptedModel([{ call: "deleteFile", input: { path: "b" } }, { say: "Done" }]);
    const settings = withCodeModeApprovals({
      model: scripted.model,
      tools: { ...tools, deleteFile },
      stopWhen,
      toolApproval: { deleteFile: "user-approval" },
    });
    const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
    const asked = await generateText({ ...settings, messages });
    expect(deleted).toEqual([]);
    messages.push(...asked.responseMessages, answers(requestsIn(asked), [true]));
    await generateText({ ...settings, messages });
    expect(deleted).toEqual(["b"]);
    expect(scripted.requests[0]?.tools?.map(({ name }) => name)).toEqual(["code_mode", "deleteFile"]);
  });

  test.each([
    ["only programs have", false],
    ["the model has too", true],
  ])(
    "an input that the schema of a tool %s transforms is approved as the tool gets it",
    async (_, isDirect) => {
      const resize = tool({
        inputSchema: z.object({ by: z.string().transform((text) => text.length) }),
        execute: async ({ by }) => by * 2,
      });
      const scripted = scriptedModel([program(`return await tools.resize({ by: "four" })`), { say: "Done" }]);
      const settings = withCodeModeApprovals({
        model: scripted.model,
        tools: { code_mode: createCodeModeTool({ resize }), ...(isDirect ? { resize } : {}) },
        stopWhen,
        toolApproval: { resize: "user-approval" },
        experimental_toolApprovalSecret: "secret of the server",
      });
      const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
      const asked = await generateText({ ...settings, messages });
      expect(requestsIn(asked)).toMatchObject([{ toolCall: { input: { by: 4 } } }]);
      messages.push(...asked.responseMessages, answers(requestsIn(asked), [true]));
      await generateText({ ...settings, messages });
      expect(scripted.requests[1]?.prompt.at(-1)).toMatchObject({ content: [{ output: { value: 8 } }] });
    },
  );
});

test.each([
  ["only programs have is not refined", false, ["a"]],
  ["the model has too is refined, and then it is not the call that waits", true, []],
])("the input of a tool that %s", async (_, isDirect, gone) => {
  const scripted = scriptedModel([DELETE_A, { say: "Done" }]);
  const settings = withCodeModeApprovals({
    model: scripted.model,
    tools: { code_mode: createCodeModeTool({ deleteFile }), ...(isDirect ? { deleteFile } : {}) },
    toolApproval: { deleteFile: "user-approval" },
    experimental_refineToolInput: { deleteFile: ({ path }: { path: string }) => ({ path: `/home/${path}` }) },
    stopWhen: isStepCount(5),
  });
  const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
  const asked = await generateText({ ...settings, messages });
  messages.push(...asked.responseMessages, answers(requestsIn(asked), [true]));
  expect((await generateText({ ...settings, messages })).text).toBe("Done");
  expect(deleted).toEqual(gone);
});

test("a tool of a program cannot have the name of code mode itself", () => {
  const { model } = scriptedModel([]);
  const tools = { code_mode: createCodeModeTool({ code_mode: deleteFile }) };
  expect(() => withCodeModeApprovals({ model, tools })).toThrow("code mode's own name");
});

test("a nested tool gets its own context, to be decided on and to be called with", async () => {
  const seen: unknown[] = [];
  const whoAmI = tool({
    inputSchema: z.object({}),
    contextSchema: z.object({ user: z.string() }),
    execute: async (_, { context }) => {
      seen.push(context);
      return context.user;
    },
  });
  const scripted = scriptedModel([program(`return await tools.whoAmI({})`), { say: "Done" }]);
  const settings = withCodeModeApprovals({
    model: scripted.model,
    tools: { code_mode: codeModeTool(), whoAmI },
    experimental_toolCallers: { whoAmI: ["code_mode"] },
    toolsContext: { whoAmI: { user: "ana" } },
    toolApproval: {
      whoAmI: (_: unknown, { toolContext }: { toolContext: unknown }) => {
        seen.push(toolContext);
        return "approved" as const;
      },
    },
    stopWhen: isStepCount(5),
  });
  await generateText({ ...settings, prompt: "Go" });
  expect(seen).toEqual([{ user: "ana" }, { user: "ana" }]);
});

describe("experimental_toolCallers", () => {
  test("tools are routed to code mode, and to the model if their callers say so", async () => {
    const tools = { code_mode: experimental_codeModeTool(), deleteFile, listFiles } as const;
    const scripted = scriptedModel([
      program(`for (const path of await tools.listFiles({})) await tools.deleteFile({ path }); return "all"`),
      { call: "listFiles", input: {} },
      { call: "deleteFile", input: { path: "c" } },
      { say: "Done" },
    ]);
    const { text } = await generateText({
      model: scripted.model,
      tools,
      experimental_toolCallers: {
        listFiles: ["code_mode", DIRECT_TOOL_CALL],
        deleteFile: ["code_mode"],
      },
      stopWhen: isStepCount(10),
      prompt: "Delete all files",
    });
    expect([text, deleted]).toEqual(["Done", ["a", "b"]]);
    const [sent] = scripted.requests;
    expect(sent?.tools?.map(({ name }) => name)).toEqual(["code_mode", "listFiles"]);
    const description = JSON.stringify(sent?.tools?.[0]);
    expect(description).toContain("deleteFile");
    expect(description).toContain("listFiles");
  });

  test("log lines and nested calls of a program with routed tools reach the model", async () => {
    const scripted = scriptedModel([
      program(`console.log("hello"); return (await tools.listFiles({})).length`),
      { say: "Done" },
    ]);
    await generateText({
      model: scripted.model,
      tools: {
        code_mode: codeModeTool({ modelOutput: { includeNestedToolOutputs: true } }),
        listFiles,
      },
      experimental_toolCallers: { listFiles: ["code_mode"] },
      stopWhen: isStepCount(3),
      prompt: "Go",
    });
    expect(scripted.requests[1]?.prompt.at(-1)).toMatchObject({
      content: [
        {
          output: {
            value: { result: 2, console: ["hello"], nestedTools: [{ output: { value: ["a", "b"] } }] },
          },
        },
      ],
    });
  });

  test("routed tools are approved, hidden from the provider, and not called directly", async () => {
    const scripted = scriptedModel([{ call: "deleteFile", input: { path: "x" } }, DELETE_A, { say: "Done" }]);
    const agent = new ToolLoopAgent(
      withCodeModeApprovals({
        model: scripted.model,
        tools: { code_mode: codeModeTool(), deleteFile, listFiles },
        experimental_toolCallers: {
          deleteFile: ["code_mode"],
          listFiles: ["code_mode", DIRECT_TOOL_CALL],
        },
        toolApproval: { deleteFile: "user-approval" },
      }),
    );
    const messages: ModelMessage[] = [{ role: "user", content: "Go" }];
    const asked = await agent.generate({ messages });
    expect(requestsIn(asked).map(({ toolCall }) => toolCall.input)).toEqual([{ path: "a" }]);
    expect(deleted).toEqual([]);
    messages.push(...asked.responseMessages, answers(requestsIn(asked), [true]));
    expect((await agent.generate({ messages })).text).toBe("Done");
    expect(deleted).toEqual(["a"]);
    expect(scripted.requests.map(({ tools }) => tools?.map(({ name }) => name))).toEqual(
      Array.from({ length: 3 }, () => ["code_mode", "listFiles"]),
    );
    expect(JSON.stringify(scripted.requests[0]?.tools?.[0])).toContain("Deletes a file");
    expect(scripted.sent()).not.toContain("token");
  });
});

test("a model that is named by its id is resolved as the AI SDK does it", async () => {
  const scripted = scriptedModel([DELETE_A]);
  const names: string[] = [];
  const scope = globalThis as { AI_SDK_DEFAULT_PROVIDER?: unknown };
  scope.AI_SDK_DEFAULT_PROVIDER = {
    languageModel: (id: string) => {
      names.push(id);
      return scripted.model;
    },
  };
  try {
    const settings = withCodeModeApprovals({
      model: "some/model",
      tools: { code_mode: createCodeModeTool({ deleteFile }) },
      stopWhen: isStepCount(5),
      toolApproval: { deleteFile: "user-approval" },
    });
    expect(requestsIn(await generateText({ ...settings, prompt: "Go" }))).toHaveLength(1);
    expect(names).toEqual(["some/model"]);
  } finally {
    delete scope.AI_SDK_DEFAULT_PROVIDER;
  }
});
