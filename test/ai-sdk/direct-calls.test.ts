/** Tools of `createExecWaitTools` and `toAiTools` that the model calls by itself: as safe as those of programs. */
import { generateText, jsonSchema, tool, type ToolSet } from "ai";
import type { HostError } from "codecell";
import { createExecWaitTools, toAiTools } from "codecell/ai";
import { createAgentRuntime } from "codecell/surface";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { scriptedModel } from "./scripted-model.ts";

const fault = Object.assign(new Error("pg://user:pw@db down"), {
  config: { headers: { authorization: "Bearer pw@db" } },
});
const fail = (): never => {
  throw fault;
};
const context = { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" };
const stopWhen = ({ steps }: { steps: readonly unknown[] }): boolean => steps.length === 3;

/** What the model is told after it has called the tool `pay`; `tools` as the AI SDK gets them. */
async function toldAfter(input: unknown, tools: ToolSet): Promise<string> {
  const scripted = scriptedModel([{ call: "pay", input }, { say: "Done" }]);
  await generateText({ model: scripted.model, tools, prompt: "Go", stopWhen });
  return JSON.stringify(scripted.requests[1]?.prompt.at(-1));
}

/** The tool as createExecWaitTools shows it with code mode off. */
function shown(pay: object, onError?: (report: HostError) => void): ToolSet {
  const options = { config: false, context, ...(onError === undefined ? {} : { onError }) };
  return createExecWaitTools({ pay: pay as ToolSet[string] }, options).tools;
}

describe("a tool that the model calls by itself", () => {
  const executed: unknown[] = [];
  const execute = async (input: unknown): Promise<string> => {
    executed.push(input);
    return "paid";
  };

  test("is not called where needsApproval throws, and the model reads nothing of why [host:errors] [policy:fails-closed]", async () => {
    executed.length = 0;
    const told: HostError[] = [];
    const pay = tool({ inputSchema: z.object({}), needsApproval: fail, execute });
    const tools = shown(pay, (report) => told.push(report));
    const answer = await toldAfter({}, tools);
    expect(answer).toContain("it could not be authorised");
    expect(answer).not.toMatch(/pw@db|cause|config/u);
    expect(told).toEqual([
      { error: fault, source: "authorize", runId: "call-1", callId: "call-1", tool: "pay" },
    ]);
    expect(executed).toEqual([]);
    // Whoever calls it without the AI SDK gets an error, and why for its own eyes.
    const error: unknown = await tools["pay"]?.execute?.({}, { toolCallId: "1", messages: [] } as never).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(Error);
    expect(error).toHaveProperty("cause", fault);
    expect(JSON.stringify({ ...(error as object) })).not.toContain("pw@db");
  });

  test.each<[string, object]>([
    ["a schema of a library", z.object({ a: z.number() })],
    ["a JSON Schema", jsonSchema({ type: "object", properties: { a: { type: "number" } }, required: ["a"] })],
    [
      "a JSON Schema that is made late",
      jsonSchema(async () => ({ type: "object", properties: { a: { type: "number" } }, required: ["a"] })),
    ],
  ])("is called with what fits %s, and nothing else [tools:direct]", async (_what, inputSchema) => {
    executed.length = 0;
    const tools = shown({ inputSchema, execute });
    expect(await toldAfter({ a: "rm -rf", __x: 1 }, tools)).toContain("Invalid input");
    expect(executed).toEqual([]);
    expect(await toldAfter({ a: 1 }, tools)).toContain("paid");
    expect(executed).toEqual([{ a: 1 }]);
  });

  test("gets what its schema makes of the input, made once [tools:direct]", async () => {
    executed.length = 0;
    const inputSchema = z.object({
      count: z.string().transform(Number),
      unit: z.string().default("EUR"),
    });
    expect(await toldAfter({ count: "5" }, shown({ inputSchema, execute }))).toContain("paid");
    expect(executed).toEqual([{ count: 5, unit: "EUR" }]);
  });

  test("whose schema fails by itself is not called, and the host alone hears why [host:errors] [tools:direct]", async () => {
    executed.length = 0;
    const told: HostError[] = [];
    const tools = shown({ inputSchema: z.object({}).refine(fail), execute }, (report) => told.push(report));
    const answer = await toldAfter({}, tools);
    expect(answer).toContain("the tool's schema failed");
    expect(answer).not.toContain("pw@db");
    expect(told).toMatchObject([{ error: fault, source: "schema", tool: "pay" }]);
    expect(executed).toEqual([]);
  });

  test("gets validated inputs also if it is direct-only beside code mode [tools:direct]", async () => {
    executed.length = 0;
    await using runtime = createAgentRuntime();
    const pay = { input: z.object({ a: z.number() }), directOnly: true, execute };
    await using run = runtime.prepareAgentRun({ config: true, context, tools: { core: { pay } } });
    const tools = toAiTools(run.visibleTools, context);
    expect(Object.keys(tools)).toEqual(["exec", "wait", "pay"]);
    expect(await toldAfter({ a: "x" }, tools)).toContain("Invalid input");
    expect(executed).toEqual([]);
  });
});

test("exec answers invalid_input to an input that is not a program", async () => {
  await using runtime = createAgentRuntime();
  const pay = tool({ inputSchema: z.object({}), execute: async () => "paid" });
  await using codeMode = createExecWaitTools({ pay }, { runtime, context });
  const scripted = scriptedModel([{ call: "exec", input: { code: 5 } }, { say: "Done" }]);
  await generateText({ model: scripted.model, tools: codeMode.tools, prompt: "Go", stopWhen });
  expect(JSON.stringify(scripted.requests[1]?.prompt.at(-1))).toContain("invalid_input");
});
