/** Approvals of tools of the AI SDK under `exec` and `wait`: decided in the one pipeline of calls. */
import { tool } from "ai";
import { createHost, type Json } from "codecell";
import {
  type CodeModeToolExecutionOptions,
  createExecWaitTools,
  requestCodeModeInterrupt,
  toAgentTools,
} from "codecell/ai";
import { createMemoryStore } from "codecell/store";
import { createAgentRuntime } from "codecell/surface";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";

const context = { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" };
const inputSchema = z.object({});

describe("needsApproval", () => {
  test("may take longer than the program: deciding is not the program's time", async () => {
    // The test's own clock: a busy machine may need long for the program itself.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const needsApproval = (): boolean => {
      vi.advanceTimersByTime(90_000);
      return false;
    };
    const tools = { pay: tool({ inputSchema, needsApproval, execute: async () => "paid" }) };
    await using runtime = createAgentRuntime();
    const config = { enabled: true, timeoutMs: 60_000 };
    await using codeMode = createExecWaitTools(tools, { runtime, config, context });
    expect(await codeMode.run.exec({ code: "return await tools.pay({})" })).toMatchObject({
      status: "completed",
      value: "paid",
    });
  });

  test("is asked after the host's hook and approval, with the input that will be executed", async () => {
    const asked: unknown[] = [];
    const pay = tool({
      inputSchema: z.object({ sum: z.number() }),
      needsApproval: ({ sum }) => {
        asked.push(["tool", sum]);
        return false;
      },
      execute: async ({ sum }) => sum,
    });
    await using runtime = createAgentRuntime();
    await using codeMode = createExecWaitTools(
      { pay },
      {
        runtime,
        context,
        beforeToolCall: () => ({ input: { sum: 2 } }),
        approve: ({ input }) => {
          asked.push(["host", (input as { sum: number }).sum]);
          return "allow";
        },
      },
    );
    expect(await codeMode.run.exec({ code: "return await tools.pay({ sum: 1 })" })).toMatchObject({
      value: 2,
    });
    expect(asked).toEqual([
      ["host", 2],
      ["tool", 2],
    ]);
  });

  test("is asked about the input that will be executed, even if the schema makes another each time", async () => {
    let made = 0;
    const asked: unknown[] = [];
    const executed: unknown[] = [];
    const pay = tool({
      inputSchema: z.object({ id: z.number().default(() => ++made) }),
      needsApproval: (input) => {
        asked.push(input);
        return true;
      },
      execute: async (input) => executed.push(input),
    });
    await using runtime = createAgentRuntime();
    await using codeMode = createExecWaitTools({ pay }, { runtime, context });
    const { run } = codeMode;
    const waiting = await run.exec({ code: "return await tools.pay({})" });
    if (waiting.status !== "waiting") throw new Error(JSON.stringify(waiting));
    // Its tool is not called before somebody says yes.
    expect(waiting.telemetry.counts.call).toBe(0);
    run.resolve({ [waiting.pendingToolCalls?.[0]?.id ?? ""]: { resolution: { approved: true } } });
    expect(await run.wait({ runId: waiting.runId })).toMatchObject({ status: "completed" });
    expect(executed).toEqual([asked[0]]);
  });

  test("holds for programs of a plain host too", async () => {
    const executed: unknown[] = [];
    const pay = tool({ inputSchema, needsApproval: true, execute: async () => executed.push("paid") });
    const tools = toAgentTools({ pay });
    await using host = createHost();
    const first = await host.start({ source: "return await tools.pay({})", tools }).result;
    if (first.status !== "suspended") throw new Error(JSON.stringify(first));
    expect(executed).toEqual([]);
    const { token, pending } = first.suspension;
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: { approved: true } } };
    expect(await host.resume({ token, tools, resolutions }).result).toMatchObject({
      status: "completed",
      value: 1,
    });
  });

  test("cannot be left out: a copy of the tool without it is not called [policy:fails-closed]", async () => {
    const executed: unknown[] = [];
    const pay = tool({ inputSchema, needsApproval: true, execute: async () => executed.push("paid") });
    const { pay: own } = toAgentTools({ pay });
    if (own === undefined) throw new Error("There is no such tool");
    const source = "return await tools.pay({}).catch(({ code }) => code)";
    await using host = createHost();
    const bare = await host.start({ source, tools: { pay: { execute: own.execute } } }).result;
    expect(bare).toMatchObject({ status: "completed", value: "denied" });
    const kept = await host.start({ source, tools: { pay: { ...own, description: "Pays" } } }).result;
    expect(kept.status).toBe("suspended");
    expect(executed).toEqual([]);
  });
});

describe("an answer of the wrong kind", () => {
  /** A tool that needs approval and then asks which account it may use. */
  function payFrom(executed: unknown[]) {
    return tool({
      inputSchema,
      needsApproval: true,
      execute: async (_input, options) => {
        const { codeModeInterrupt } = options as CodeModeToolExecutionOptions;
        if (codeModeInterrupt === undefined) return requestCodeModeInterrupt({ kind: "account" });
        executed.push(codeModeInterrupt.resolution);
        return "paid";
      },
    });
  }

  test.each<[string, Json]>([
    ["a no in the place of another answer", { resolution: { approved: false } }],
    ["a yes in the place of another answer", { resolution: { approved: true } }],
    ["a no beside another answer", { approved: false, resolution: "x" }],
    ["a word beside another answer", { approved: "yes", resolution: "x" }],
    ["another answer alone", { resolution: "x" }],
    ["a reason that is not text", { approved: true, reason: 1 }],
  ])("%s approves nothing [policy:fails-closed]", async (_what, resolution) => {
    const executed: unknown[] = [];
    const pay = tool({ inputSchema, needsApproval: true, execute: async () => executed.push("paid") });
    await using runtime = createAgentRuntime();
    await using codeMode = createExecWaitTools({ pay }, { runtime, context });
    const { run } = codeMode;
    const code = "return await tools.pay({}).catch(({ code }) => code)";
    const waiting = await run.exec({ code });
    if (waiting.status !== "waiting") throw new Error(JSON.stringify(waiting));
    run.resolve({ [waiting.pendingToolCalls?.[0]?.id ?? ""]: { resolution } });
    expect(await run.wait({ runId: waiting.runId })).toMatchObject({ status: "completed", value: "denied" });
    expect(executed).toEqual([]);
  });

  test("the answers of two calls, swapped, execute neither", async () => {
    const executed: unknown[] = [];
    const pay = tool({ inputSchema, needsApproval: true, execute: async () => executed.push("paid") });
    const connect = tool({
      inputSchema,
      execute: async (_input, options) => {
        const { codeModeInterrupt } = options as CodeModeToolExecutionOptions;
        return codeModeInterrupt?.resolution ?? requestCodeModeInterrupt({ kind: "auth" });
      },
    });
    await using runtime = createAgentRuntime();
    await using codeMode = createExecWaitTools({ pay, connect }, { runtime, context });
    const { run } = codeMode;
    const code = `const ends = await Promise.allSettled([tools.pay({}), tools.connect({})]);
return ends.map(({ status }) => status)`;
    const waiting = await run.exec({ code });
    if (waiting.status !== "waiting") throw new Error(JSON.stringify(waiting));
    const [first, second] = waiting.pendingToolCalls ?? [];
    run.resolve({
      [first?.id ?? ""]: { resolution: { resolution: { token: "t" } } },
      [second?.id ?? ""]: { resolution: { approved: false } },
    });
    await run.wait({ runId: waiting.runId });
    expect(executed).toEqual([]);
  });

  test("the answer to a question of the host approves nothing", async () => {
    const executed: unknown[] = [];
    await using runtime = createAgentRuntime();
    await using codeMode = createExecWaitTools(
      { pay: payFrom(executed) },
      {
        runtime,
        context,
        approve: ({ resolution }) => (resolution === undefined ? { suspend: { kind: "account" } } : "allow"),
      },
    );
    const { run } = codeMode;
    const waiting = await run.exec({ code: "return await tools.pay({}).catch(({ code }) => code)" });
    if (waiting.status !== "waiting") throw new Error(JSON.stringify(waiting));
    run.resolve({ [waiting.pendingToolCalls?.[0]?.id ?? ""]: { resolution: { resolution: "x" } } });
    expect(await run.wait({ runId: waiting.runId })).toMatchObject({ status: "completed", value: "denied" });
    expect(executed).toEqual([]);
  });

  test.each(["here", "in another process"])(
    "a tool that was approved and then asked gets its answer %s",
    async (where) => {
      const executed: unknown[] = [];
      const store = createMemoryStore();
      const sealKey = new Uint8Array(32).fill(7);
      const open = () => {
        const host = createHost({ store, sealKey });
        const codeMode = createExecWaitTools({ pay: payFrom(executed) }, { host, context });
        return { host, run: codeMode.run };
      };
      const first = open();
      const hosts = [first];
      onTestFinished(async () => {
        for (const { host } of hosts) await host[Symbol.asyncDispose]();
      });
      let { run } = first;
      let waiting = await run.exec({ code: "return await tools.pay({})" });
      for (const resolution of [{ approved: true }, { resolution: "ana" }]) {
        if (waiting.status !== "waiting") throw new Error(JSON.stringify(waiting));
        const { runId } = waiting;
        if (where === "in another process") {
          const other = open();
          hosts.push(other);
          ({ run } = other);
          // It learns what waits.
          waiting = await run.wait({ runId });
          if (waiting.status !== "waiting") throw new Error(JSON.stringify(waiting));
        }
        run.resolve({ [waiting.pendingToolCalls?.[0]?.id ?? ""]: { resolution } });
        waiting = await run.wait({ runId });
      }
      expect(waiting).toMatchObject({ status: "completed", value: "paid" });
      expect(executed).toEqual(["ana"]);
    },
  );
});
