/** Functions of the host that decide on calls, and throw: neither the program nor the model reads why. */
import { jsonSchema, tool, type ToolSet } from "ai";
import type { HostError } from "codecell";
import { type CodeModeOptions, createCodeModeTool, createExecWaitTools, runCodeMode } from "codecell/ai";
import { createAgentRuntime } from "codecell/surface";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const fault = new Error("pg://user:pw@db down");
const fail = async (): Promise<never> => {
  await Promise.resolve();
  throw fault;
};
const failAtOnce = (): never => {
  throw fault;
};
const inputSchema = z.object({});
const execute = async (): Promise<string> => "paid";
const needing = tool({ inputSchema, needsApproval: true, execute });
const plain = tool({ inputSchema, execute });

const CATCHING = `try { return await tools.pay({}) } catch (e) { return { ...e, name: e.name, message: e.message, stack: e.stack } }`;

class Getting {
  declare readonly pay: never;

  constructor() {
    Object.defineProperty(this, "pay", { get: failAtOnce });
  }
}

const cases: readonly [string, ToolSet, CodeModeOptions][] = [
  ["onApprovalRequired", { pay: needing }, { approval: { onApprovalRequired: fail } }],
  [
    "onApprovalRequired that throws at once",
    { pay: needing },
    { approval: { onApprovalRequired: failAtOnce } },
  ],
  ["needsApproval", { pay: tool({ inputSchema, needsApproval: fail, execute }) }, {}],
  ["toolApproval", { pay: plain }, { approval: { toolApproval: fail } }],
  ["toolApproval for one tool", { pay: plain }, { approval: { toolApproval: { pay: fail } } }],
  [
    "a needsApproval that is a getter",
    {
      pay: Object.defineProperty(tool({ inputSchema, execute }), "needsApproval", {
        get: failAtOnce,
      }),
    },
    {},
  ],
  ["a toolApproval that is a getter", { pay: plain }, { approval: { toolApproval: new Getting() as never } }],
  ["a schema's own code", { pay: tool({ inputSchema: z.object({}).refine(fail), execute }) }, {}],
];

/** Of tools whose schemas are made when they are needed: a description would ask for them sooner. */
const late: typeof cases = [
  ["a schema that is a function", { pay: { inputSchema: failAtOnce, execute } }, {}],
  ["a JSON Schema that is made late", { pay: tool({ inputSchema: jsonSchema(failAtOnce), execute }) }, {}],
  ["a JSON Schema that is awaited", { pay: tool({ inputSchema: jsonSchema(fail), execute }) }, {}],
];

describe.each([...cases, ...late])("%s", (_name, tools, options) => {
  test("that throws denies the call, and tells the host alone why [host:errors] [policy:fails-closed]", async () => {
    const told: HostError[] = [];
    const seen: unknown[] = [];
    const given: CodeModeOptions = {
      ...options,
      onError: (report) => told.push(report),
      lifecycle: { onNestedToolResult: (event) => void seen.push((event as { error?: unknown }).error) },
    };
    const caught = await runCodeMode({ js: CATCHING, tools, options: given });
    expect(caught).toMatchObject({
      message: 'Cannot call tool "pay": it could not be authorised',
      code: "CODE_MODE_HOST_TOOL_ERROR",
    });
    expect(JSON.stringify(caught)).not.toContain("pw@db");
    expect(told).toMatchObject([{ source: "authorize", tool: "pay" }]);
    expect(rootOf(told[0]?.error)).toBe(fault);
    expect(rootOf(seen[0])).toBe(fault);
  });
});

describe.each(cases)("%s", (_name, tools, options) => {
  test("that throws tells a model nothing more if the program does not catch it [host:errors]", async () => {
    const codeMode = createCodeModeTool(tools, options);
    const error: unknown = await codeMode
      .execute({ js: "return await tools.pay({})" }, { toolCallId: "1", messages: [] })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    const { message } = error as Error;
    expect(message).toContain("it could not be authorised");
    expect(`${message}${JSON.stringify(error)}`).not.toContain("pw@db");
    // For whoever called it, and for no text of it.
    expect(rootOf(error)).toBe(fault);
  });
});

test("a schema with its own validate is not read as JSON Schema", async () => {
  const validate = (value: unknown) => ({ success: true, value }) as const;
  const pay = tool({ inputSchema: jsonSchema(failAtOnce, { validate }), execute });
  expect(await runCodeMode({ js: "return await tools.pay({})", tools: { pay } })).toBe("paid");
});

test("an invalid schema that is made late allows nothing [policy:fails-closed]", async () => {
  const told: HostError[] = [];
  const options: CodeModeOptions = { onError: (report) => told.push(report) };
  const pay = tool({ inputSchema: jsonSchema(() => undefined as never), execute });
  expect(await runCodeMode({ js: CATCHING, tools: { pay }, options })).toMatchObject({
    code: "CODE_MODE_HOST_TOOL_ERROR",
  });
  expect(String(told[0]?.error)).toContain("gave no JSON Schema");
});

test("only the host hears why a needsApproval under exec and wait threw [host:errors]", async () => {
  const told: HostError[] = [];
  const tools = { pay: tool({ inputSchema, needsApproval: fail, execute }) };
  await using runtime = createAgentRuntime();
  const context = { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" };
  const onError = (report: HostError): void => void told.push(report);
  await using codeMode = createExecWaitTools(tools, { runtime, context, onError });
  const { run } = codeMode;
  const results = [await run.exec({ code: CATCHING }), await run.exec({ code: "await tools.pay({})" })];
  expect(results).toMatchObject([{ status: "completed", value: { code: "denied" } }, { status: "failed" }]);
  expect(JSON.stringify([results, await run.trajectory()])).not.toContain("pw@db");
  expect(told).toMatchObject([{ error: fault }, { error: fault }]);
});

/** What was thrown first. */
function rootOf(error: unknown): unknown {
  let root = error;
  while (root instanceof Error && root.cause !== undefined) root = root.cause;
  return root;
}
