/** `exec` and `wait` over tools of the AI SDK, on its own agent. */
import { tool, ToolLoopAgent, wrapLanguageModel } from "ai";
import type { Json } from "codecell";
import {
  type CodeModeToolExecutionOptions,
  createExecWaitTools,
  requestCodeModeInterrupt,
} from "codecell/ai";
import { createAgentRuntime } from "codecell/surface";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../examples/agent/scripted-model.ts";

const CONTEXT = { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k", tenant: "acme" };

describe("exec and wait over tools of the AI SDK", () => {
  test("a tool that asks for something is called again with the answer; a denial is told with its reason", async () => {
    const tools = {
      connect: tool({
        inputSchema: z.object({}),
        execute: (_input, options) => {
          const { codeModeInterrupt } = options as CodeModeToolExecutionOptions;
          if (codeModeInterrupt === undefined) return requestCodeModeInterrupt({ kind: "auth" });
          return codeModeInterrupt.resolution;
        },
      }),
      remove: tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => "gone" }),
    };
    await using runtime = createAgentRuntime();
    await using codeMode = createExecWaitTools(tools, { runtime, context: CONTEXT });
    const { run } = codeMode;
    const code = `const removed = tools.remove({}).catch(({ code, message }) => [code, message]);
return [await tools.connect({}), await removed]`;
    const waiting = await run.exec({ code });
    if (waiting.status !== "waiting") throw new Error(JSON.stringify(waiting));
    const [remove, connect] = waiting.pendingToolCalls ?? [];
    expect(connect?.asks).toEqual({ kind: "auth" });
    run.resolve({
      [remove?.id ?? ""]: { resolution: { approved: false, reason: "It is in use" } },
      [connect?.id ?? ""]: { resolution: { resolution: { token: "t" } } },
    });
    expect(await run.wait({ runId: waiting.runId })).toMatchObject({
      status: "completed",
      value: [{ token: "t" }, ["denied", expect.stringContaining("It is in use")]],
    });
  });

  test("they answer to a signal that was aborted before, as they always answer", async () => {
    const add = tool({ inputSchema: z.object({}), execute: async () => 1 });
    await using codeMode = createExecWaitTools({ add }, { context: CONTEXT });
    const { exec } = codeMode.tools;
    const given = { toolCallId: "1", messages: [], abortSignal: AbortSignal.abort(), context: undefined };
    expect(await exec?.execute?.({ code: "return 1" }, given as never)).toMatchObject({ code: "aborted" });
  });

  test("an agent works with them in place of its tools, which see its context", async () => {
    const seen: unknown[] = [];
    const tools = {
      add: tool({
        description: "Adds two numbers",
        inputSchema: z.object({ a: z.number(), b: z.coerce.number() }),
        execute: async ({ a, b }, options) => {
          const { context, abortSignal, toolCallId } = options;
          seen.push(context, abortSignal instanceof AbortSignal, typeof toolCallId);
          return a + b;
        },
      }),
      count: tool({
        description: "Counts slowly",
        inputSchema: z.object({}),
        async *execute() {
          yield 1;
          yield 2;
        },
      }),
      shown: { description: "Has nobody to execute it", inputSchema: z.object({}) },
    };
    await using runtime = createAgentRuntime();
    await using codeMode = createExecWaitTools(tools, { runtime, context: CONTEXT });
    const code = `const { id } = ALL_TOOLS.find(({ name }) => name === "count");
return [await tools.add({ a: 1, b: "2" }), await tools.call(id), ALL_TOOLS.length]`;
    const model = scriptedModel([
      () => ({ call: "exec", input: { code } }),
      (last) => ({ say: JSON.stringify(last.status === "completed" ? last.value : last) }),
    ]);
    const agent = new ToolLoopAgent({
      model: wrapLanguageModel({ model, middleware: codeMode.middleware }),
      tools: { ...codeMode.tools, sneaked: tools.add },
    });
    const { text } = await agent.generate({ prompt: "Add" });
    expect(JSON.parse(text)).toEqual([3, 2, 2]);
    expect(seen).toEqual([expect.objectContaining({ tenant: "acme" }), true, "string"]);
    const sent = model.doGenerateCalls.map(({ tools: given = [] }) => given.map(({ name }) => name));
    expect(sent).toEqual([
      ["exec", "wait"],
      ["exec", "wait"],
    ]);
  });

  test("what a tool yields reaches the callback of exec, and the last value is the output [exec-wait:52]", async () => {
    const tools = {
      count: tool({
        inputSchema: z.object({}),
        async *execute() {
          yield 1;
          yield 2;
        },
      }),
    };
    await using runtime = createAgentRuntime();
    await using codeMode = createExecWaitTools(tools, { runtime, context: CONTEXT });
    const updates: unknown[] = [];
    const onUpdate = ({ update }: { update: unknown }): void => void updates.push(update);
    const result = await codeMode.run.exec({ code: "return await tools.count({})" }, { onUpdate });
    expect(result).toMatchObject({ status: "completed", value: 2 });
    expect(updates).toEqual([1, 2]);
  });

  test("an input that a tool's own schema refuses is told to the program", async () => {
    const tools = {
      add: tool({ inputSchema: z.object({ a: z.number() }), execute: async ({ a }) => a }),
    };
    await using runtime = createAgentRuntime();
    await using codeMode = createExecWaitTools(tools, { runtime, context: CONTEXT });
    const code = 'try { await tools.add({ a: "x" }) } catch (error) { return error.code }';
    expect(await codeMode.run.exec({ code })).toMatchObject({ status: "completed", value: "invalid_input" });
  });

  test("a tool that needs approval is not executed without, and a program goes on with the answer", async () => {
    const deleted: string[] = [];
    const tools = {
      remove: tool({
        inputSchema: z.object({ path: z.string() }),
        needsApproval: ({ path }) => path !== "tmp",
        execute: async ({ path }) => deleted.push(path),
      }),
    };
    await using runtime = createAgentRuntime();
    await using codeMode = createExecWaitTools(tools, { runtime, context: CONTEXT });
    const { run } = codeMode;
    const code = `await tools.remove({ path: "tmp" });
const ends = await Promise.allSettled(["a", "b"].map((path) => tools.remove({ path })));
return ends.map(({ status }) => status)`;
    const waiting = await run.exec({ code });
    expect(waiting).toMatchObject({ status: "waiting" });
    expect(deleted).toEqual(["tmp"]);
    if (waiting.status !== "waiting") return;
    const [first, second] = waiting.pendingToolCalls ?? [];
    run.resolve({
      [first?.id ?? ""]: { resolution: { approved: true } },
      [second?.id ?? ""]: { resolution: { approved: false } },
    });
    expect(await run.wait({ runId: waiting.runId })).toMatchObject({
      status: "completed",
      value: ["fulfilled", "rejected"],
    });
    expect(deleted).toEqual(["tmp", "a"]);
  });

  test.each<[string, Json]>([
    ["nothing", null],
    ["a text", "approved"],
    ["a word for yes", { approved: "yes" }],
    ["a number", { approved: 1 }],
    ["an answer without a decision", { reason: "fine" }],
  ])("an approval that is %s is refused", async (_what, resolution) => {
    let calls = 0;
    const tools = {
      remove: tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => ++calls }),
    };
    await using runtime = createAgentRuntime();
    await using codeMode = createExecWaitTools(tools, { runtime, context: CONTEXT });
    const waiting = await codeMode.run.exec({ code: "return await tools.remove({})" });
    if (waiting.status !== "waiting") throw new Error("It does not wait");
    codeMode.run.resolve({ [waiting.pendingToolCalls?.[0]?.id ?? ""]: { resolution } });
    expect(await codeMode.run.wait({ runId: waiting.runId })).toMatchObject({ status: "failed" });
    expect(calls).toBe(0);
  });
});
