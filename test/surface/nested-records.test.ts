/** Records and counts of nested calls that never reached their tool. */
import { describe, expect, test } from "vitest";
import type { AgentTools, CallRecord } from "codecell/surface";
import { openDesk, until } from "./fixtures.ts";
import { failedOf, Stubborn, valueOf, waitingOf } from "./results.ts";
import { startStopwatch } from "../processor-time.ts";

const codeOf = ({ error }: CallRecord): unknown => (error as { code?: unknown } | undefined)?.code;

describe("records of calls", () => {
  test("exist for refused, denied, unknown and wrong calls as soon as the result is there [exec-wait:96]", async () => {
    await using desk = openDesk({
      beforeToolCall: ({ name }) => (name === "select_file" ? { block: "no" } : undefined),
      approve: ({ name }) => (name === "needs_ok" ? { deny: "no" } : "allow"),
    });
    const code = `const calls = [() => tools.select_file({ n: 1 }), () => tools.needs_ok({ n: 2 }), () => tools.read({ n: 3 }),
      () => tools.call("core:core:forbidden", { n: 4 }), () => tools.boom({ n: 5 }), () => tools.echo({ n: 6 })];
      const codes = [];
      for (const call of calls) codes.push(await call().then(() => "fine", (e) => e.code));
      return codes`;
    const codes = ["denied", "denied", "invalid_input", "unknown_tool", "tool_failed", "fine"];
    const result = await desk.exec(code);
    expect(await valueOf(result)).toEqual(codes);
    const { calls } = await desk.run.trajectory();
    expect(calls.map(({ tool }) => tool)).toEqual([
      "client:app:select_file",
      "core:core:needs_ok",
      "core:core:read",
      "core:core:forbidden",
      "core:core:boom",
      "core:core:echo",
    ]);
    expect(calls.map((call) => codeOf(call) ?? "fine")).toEqual(codes);
    expect(calls.map(({ input }) => input)).toEqual([1, 2, 3, 4, 5, 6].map((n) => ({ n })));
    expect(new Set(calls.map(({ parentToolCallId }) => parentToolCallId))).toEqual(new Set(["exec_1"]));
    expect(calls.every(({ endedAt }) => endedAt !== undefined)).toBe(true);
    // Only calls that reached a tool are counted.
    expect(result.telemetry.counts.call).toBe(2);
    expect(result.telemetry.calledTools).toEqual(["core:core:boom", "core:core:echo"]);
    expect(desk.forbidden.calls + desk.approved.calls).toBe(0);
  });

  test("are counted once each, also if they were dropped before the result is there [exec-wait:96]", async () => {
    await using desk = openDesk({ trajectory: { maxRecords: 1 } });
    await desk.exec("return Promise.allSettled([tools.boom({}), tools.boom({})])");
    const { counts, omitted } = await desk.run.trajectory();
    expect(counts.calls).toBe(2);
    expect(omitted.calls).toBe(2);
  });

  test("cannot be displaced by the names of unknown tools [exec-wait:96]", async () => {
    await using desk = openDesk();
    const code = `await tools.echo({ mark: 1 });
      for (let i = 0; i < 64; i++) await tools.call("x".repeat(500_000) + i).catch(() => {});
      return 1`;
    await valueOf(desk.exec(code));
    const { calls, omitted } = await desk.run.trajectory();
    expect(omitted.calls).toBe(0);
    expect(calls[0]).toMatchObject({ tool: "core:core:echo", input: { mark: 1 } });
    expect(Math.max(...calls.map(({ tool }) => tool.length))).toBeLessThanOrEqual(200);
  });

  test("say aborted for tools that ignore their abort, whatever the tools give later [exec-wait:96]", async () => {
    const stubborn = new Stubborn();
    const tools: AgentTools = { core: { stubborn: { execute: stubborn.execute } } };
    await using desk = openDesk({ tools });
    const abort = new AbortController();
    const result = desk.run.exec({ code: "return tools.stubborn({})" }, { abortSignal: abort.signal });
    await until(() => stubborn.made === 1);
    const elapsedMs = startStopwatch();
    abort.abort();
    expect((await failedOf(result)).code).toBe("aborted");
    expect(elapsedMs()).toBeLessThan(500);
    expect(stubborn.signals[0]?.aborted).toBe(true);
    stubborn.release("too late");
    expect(await valueOf(desk.exec("return 1"))).toBe(1);
    expect((await desk.run.trajectory()).calls).toMatchObject([{ status: "aborted" }]);
    expect(JSON.stringify(await desk.run.trajectory())).not.toContain("too late");
  });

  test("differ for two programs with one tool call id [exec-wait:96]", async () => {
    await using desk = openDesk({ config: { enabled: true, timeoutMs: 500 } });
    const same = { toolCallId: "call_1" };
    const { runId } = await waitingOf(desk.run.exec({ code: "return tools.gate({})" }, same));
    await valueOf(desk.run.exec({ code: "return tools.echo(1)" }, same));
    const statuses = async (): Promise<unknown> =>
      (await desk.run.trajectory()).calls.map(({ status }) => status);
    expect(await statuses()).toEqual(["running", "completed"]);
    desk.gate.release();
    await valueOf(desk.wait(runId));
    expect(await statuses()).toEqual(["completed", "completed"]);
  });

  test("end in the wait in which their calls end, under their exec [exec-wait:96]", async () => {
    await using desk = openDesk({ config: { enabled: true, timeoutMs: 500 } });
    const { runId } = await waitingOf(
      desk.run.exec({ code: "return tools.gate({ a: 1 })" }, { toolCallId: "call_1" }),
    );
    expect((await desk.run.trajectory()).calls).toMatchObject([
      { status: "running", parentToolCallId: "call_1" },
    ]);
    desk.gate.release({ b: 2 });
    await valueOf(desk.run.wait({ runId }, { toolCallId: "call_2" }));
    expect((await desk.run.trajectory()).calls).toMatchObject([
      { status: "completed", parentToolCallId: "call_1", input: { a: 1 }, result: { b: 2 } },
    ]);
  });

  test("do not change why a program waits if a call ends while the program is suspended", async () => {
    await using desk = openDesk({ config: { enabled: true, timeoutMs: 300 } });
    await valueOf(desk.exec("return 'the worker has started'"));
    // The program is always in a call, and each call is short.
    const waiting = await waitingOf(desk.exec("for (;;) await tools.echo(1)"));
    expect(waiting.reason).toBe("pending_tools");
  });

  test("have the failure that the program got for an output that does not fit its schema [exec-wait:96]", async () => {
    const output = { type: "object", required: ["id"] };
    const tools: AgentTools = { core: { typed: { output, execute: (given: unknown) => given } } };
    await using desk = openDesk({ tools });
    const code = "return [await tools.typed({ id: 1 }), await tools.typed({}).catch((e) => e.code)]";
    expect(await valueOf(desk.exec(code))).toEqual([{ id: 1 }, "invalid_output"]);
    expect((await desk.run.trajectory()).calls).toMatchObject([
      { status: "completed", result: { id: 1 } },
      { status: "failed", error: { code: "invalid_output" } },
    ]);
  });

  test("have the output as the program got it, also if a schema changes it [exec-wait:96]", async () => {
    const standard = {
      version: 1 as const,
      vendor: "test",
      validate: (value: unknown) => ({ value: BigInt(String(value)) }),
    };
    const output = {
      version: 1 as const,
      vendor: "test",
      validate: (value: unknown) => ({ value: { text: String(value) } }),
    };
    const seen: unknown[] = [];
    const tools: AgentTools = {
      core: {
        big: {
          input: { "~standard": standard },
          output: { "~standard": output },
          execute: (given: unknown) => {
            seen.push(given);
            return given;
          },
        },
      },
    };
    await using desk = openDesk({ tools });
    expect(await valueOf(desk.exec("return tools.big(12)"))).toEqual({ text: "12" });
    expect(seen).toEqual([12n]);
    expect((await desk.run.trajectory()).calls).toMatchObject([
      { status: "completed", result: { text: "12" } },
    ]);
  });
});
