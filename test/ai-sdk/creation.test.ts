/** What no invocation could begin with is said when the tool is created. */
import { jsonSchema, tool, type ToolSet } from "ai";
import {
  type CodeModeOptions,
  codeModeTool,
  createCodeModeTool,
  createExecWaitTools,
  runCodeMode,
  withCodeModeApprovals,
} from "codecell/ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { deleteFile } from "./files.ts";

describe.each([
  ["createCodeModeTool", (options: CodeModeOptions): unknown => createCodeModeTool({}, options)],
  ["codeModeTool", (options: CodeModeOptions): unknown => codeModeTool(options)],
])("%s", (_name, create) => {
  test.each<[string, CodeModeOptions, RegExp]>([
    ["a limit of zero", { executionPolicy: { timeoutMs: 0 } }, /executionPolicy\.timeoutMs/u],
    [
      "a prefix with a query",
      { fetchPolicy: { allowedUrlPrefixes: ["https://a.example/x?y"] } },
      /a\.example\/x\?y/u,
    ],
    ["an invalid origin", { fetchPolicy: { allowedOrigins: ["a.example"] } }, /a\.example/u],
    ["approvals in a Map", { approval: { toolApproval: new Map() as never } }, /toolApproval must be/u],
    ["one approval for all tools", { approval: { toolApproval: "user-approval" as never } }, /toolApproval/u],
  ])("refuses %s", (_what, options, message) => {
    expect(() => create(options)).toThrow(TypeError);
    expect(() => create(options)).toThrow(message);
  });

  test("takes a fetch policy, false, or nothing", () => {
    for (const fetchPolicy of [{ allowedOrigins: ["https://a.example"] }, false] as const) {
      expect(() => create({ fetchPolicy })).not.toThrow();
    }
    expect(() => create({})).not.toThrow();
  });
});

test.each<[string, (options: CodeModeOptions) => unknown]>([
  ["createCodeModeTool", (options) => createCodeModeTool({ deleteFile }, options)],
  ["runCodeMode", (options) => runCodeMode({ js: "return 1", tools: { deleteFile }, options })],
  [
    "withCodeModeApprovals",
    ({ approval }) =>
      withCodeModeApprovals({
        model: "m",
        tools: { code_mode: createCodeModeTool({ deleteFile }) },
        toolApproval: approval?.toolApproval as never,
      }),
  ],
])("%s refuses an approval for a tool that does not exist", async (_name, give) => {
  const approvalFor = (name: string): CodeModeOptions => ({
    approval: { toolApproval: { [name]: "user-approval" } },
  });
  await expect((async () => give(approvalFor("delete_file")))()).rejects.toThrow(
    'Cannot run code mode: toolApproval is for "delete_file", no such tool, closest is "deleteFile"',
  );
  await expect((async () => give(approvalFor("deleteFile")))()).resolves.toBeDefined();
});

describe("tools", () => {
  const context = { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" };
  const doors: readonly [string, (tools: ToolSet) => unknown][] = [
    ["createCodeModeTool", (tools) => createCodeModeTool(tools)],
    ["codeModeTool", (tools) => codeModeTool().experimental_toolCaller.bind(tools)],
    ["runCodeMode", (tools) => runCodeMode({ js: "return 1", tools })],
    ["createExecWaitTools", (tools) => createExecWaitTools(tools, { context })],
  ];
  const execute = (): number => 1;

  describe.each(doors)("of %s", (_name, give) => {
    test.each<[string, unknown, string]>([
      ["a tool of codecell", { add: { input: z.object({}), execute } }, 'has "input" and no inputSchema'],
      ["a tool of an older AI SDK", { add: { parameters: z.object({}), execute } }, 'has "parameters"'],
      [
        "fields in place of a schema",
        { add: { inputSchema: { a: z.number() }, execute } },
        "z.object({ … })",
      ],
      ["a bare JSON Schema", { add: { inputSchema: { type: "object" }, execute } }, "jsonSchema({ … })"],
      ["a text in place of a schema", { add: { inputSchema: "{}", execute } }, "an invalid inputSchema"],
      [
        "an execute that is a text",
        { add: { inputSchema: z.object({}), execute: "add" } },
        "is not a function",
      ],
      ["a function", { add: execute }, 'tool "add" is not a tool'],
    ])("that are %s are refused [tools:shapes]", async (_what, tools, problem) => {
      await expect(async () => give(tools as ToolSet)).rejects.toThrow(problem);
      await expect(async () => give(tools as ToolSet)).rejects.toThrow(TypeError);
    });

    test("that are valid are taken", async () => {
      const tools = {
        zod: tool({ inputSchema: z.object({}), execute }),
        json: tool({ inputSchema: jsonSchema({ type: "object" }), execute }),
        lazy: tool({ inputSchema: () => jsonSchema({ type: "object" }), execute } as never),
        elsewhere: tool({ inputSchema: z.object({}) }),
        loose: { execute },
      } as unknown as ToolSet;
      await expect((async () => give(tools))()).resolves.toBeDefined();
    });
  });

  // What is bound to a tool caller is an object already: the AI SDK makes it.
  describe.each(doors.filter(([name]) => name !== "codeModeTool"))("of %s", (_name, give) => {
    test.each<[string, unknown, string]>([
      ["a list", [tool({ inputSchema: z.object({}), execute })], "it is an array"],
      ["a Map", new Map(), "it is a collection"],
      ["null", null, "it is null"],
    ])("in %s are refused [tools:shapes]", async (_what, tools, problem) => {
      await expect(async () => give(tools as ToolSet)).rejects.toThrow(problem);
    });
  });

  test("are not called if toolApproval is of an unknown kind", async () => {
    const toolApproval = new Map([["add", "user-approval"]]) as never;
    const tools = { add: tool({ inputSchema: z.object({}), execute }) };
    const run = runCodeMode({
      js: "return await tools.add({})",
      tools,
      options: { approval: { toolApproval } },
    });
    await expect(run).rejects.toThrow("toolApproval must be a function");
  });
});
