/**
 * Section 4.5 of the contract's tests: the shapes of results. Every result of every test here is checked against
 * them.
 */
import type { CodeModeResult } from "codecell/surface";
import { afterAll, describe, expect, test } from "vitest";
import { type Desk, openDesk, until } from "./fixtures.ts";
import { expectResult, expectStatus } from "./result-schema.ts";

/** Long enough for a worker to start on a busy machine. */
const QUICK = { enabled: true, timeoutMs: 1500 };

/** With time for all programs that do not wait. */
const shared = openDesk({ config: QUICK });
afterAll(() => shared[Symbol.asyncDispose]());

describe("an answer", () => {
  const WAYS: readonly (readonly [string, (desk: Desk) => Promise<CodeModeResult>, string])[] = [
    ["a value", (desk) => desk.exec("return { a: [1, null] }"), "completed"],
    ["no value", (desk) => desk.exec("text('a')"), "completed"],
    [
      "output of all kinds",
      (desk) => desk.exec("text(1); json([2]); console.log(3); console.error(4)"),
      "completed",
    ],
    ["a throw", (desk) => desk.exec("throw new Error('x')"), "failed"],
    ["a throw of no error", (desk) => desk.exec("throw { a: 1 }"), "failed"],
    ["a failed call", (desk) => desk.exec("await tools.boom({})"), "failed"],
    ["wrong syntax", (desk) => desk.exec("const"), "failed"],
    ["modules", (desk) => desk.exec("require('a')"), "failed"],
    ["an unknown language", (desk) => desk.exec("return 1", "python"), "failed"],
    ["no code", (desk) => desk.run.exec({}), "failed"],
    ["no input", (desk) => desk.run.exec(undefined), "failed"],
    ["wait for nothing", (desk) => desk.run.wait({}), "failed"],
    ["wait for what is not there", (desk) => desk.wait("nothing"), "failed"],
    ["a yield", (desk) => desk.exec("await yield_control('x')"), "waiting"],
    ["a pending call", (desk) => desk.exec("text('a'); await tools.gate({ a: 1 })"), "waiting"],
    [
      "pending calls and a yield",
      (desk) => desk.exec("await Promise.all([tools.gate(), yield_control()])"),
      "waiting",
    ],
    ["an endless program", (desk) => desk.exec("for (;;) {}"), "failed"],
    ["nothing to wait for", (desk) => desk.exec("await new Promise(() => {})"), "failed"],
    [
      "too much output",
      (desk) => desk.exec("for (let i = 0; i < 5000; i++) text('x'.repeat(100)); return 'y'.repeat(99999)"),
      "completed",
    ],
    ["too large a value", (desk) => desk.exec("return 'y'.repeat(6_000_000)"), "failed"],
  ];

  test.each(WAYS)("[exec-wait:39] to %s has exactly one shape", async (_, answer, status) => {
    const result = expectResult(await answer(shared));
    expect(result.status).toBe(status);
    expect("runId" in result).toBe(status === "waiting");
  });

  test("[exec-wait:39] to wait has the same shapes as one to exec", async () => {
    await using desk = openDesk({ config: QUICK });
    const code =
      "text('a'); const x = await tools.gate(); text('b'); if (x === 'bad') throw new Error(x); return x";
    for (const [value, status] of [
      ["good", "completed"],
      ["bad", "failed"],
    ] as const) {
      const first = expectStatus("waiting", await desk.exec(code));
      await until(() => desk.gate.open === 1);
      const second = expectStatus("waiting", await desk.wait(first.runId));
      expect(second.runId).toBe(first.runId);
      desk.gate.release(value);
      const last = await desk.wait(first.runId);
      expect(last.status).toBe(status);
      expect("runId" in last).toBe(false);
      expectStatus("failed", await desk.wait(first.runId));
    }
  });

  test("[exec-wait:39] is the result of the tools in a loop too, and is never thrown", async () => {
    await using desk = openDesk();
    const [exec, wait] = desk.run.visibleTools.map(({ tool }) => tool);
    const call = {
      runId: "r",
      callId: "c",
      idempotencyKey: "k",
      signal: new AbortController().signal,
      context: undefined,
      resolution: undefined,
      suspend: (): never => {
        throw new Error("It asks for nothing");
      },
    };
    const results = [
      await exec?.execute({ code: "return 1" }, call),
      await exec?.execute({ code: "" }, call),
      await exec?.execute(null, call),
      await wait?.execute({ runId: "x" }, call),
      await wait?.execute("x", call),
      // A loop in plain JavaScript might do this.
      await exec?.execute({ code: "return 1" }, undefined as unknown as typeof call),
    ] as CodeModeResult[];
    expect(results.map((result) => expectResult(result).status)).toEqual([
      "completed",
      "failed",
      "failed",
      "failed",
      "failed",
      "completed",
    ]);
  });

  test("[exec-wait:39] to hostile input is a failed result", async () => {
    await using desk = openDesk();
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error("S3CRET");
        },
        has: () => {
          throw new Error("S3CRET");
        },
        ownKeys: () => {
          throw new Error("S3CRET");
        },
      },
    );
    for (const result of [await desk.run.exec(hostile), await desk.run.wait(hostile)]) {
      expect(expectStatus("failed", result).code).toBe("invalid_input");
      expect(JSON.stringify(result)).not.toContain("S3CRET");
    }
  });

  test("[exec-wait:39] cannot be shaped by a program", async () => {
    await using desk = openDesk();
    const fake = { status: "waiting", runId: "mine", reason: "yield", telemetry: {} };
    const code = `json(${JSON.stringify(fake)}); return ${JSON.stringify(fake)}`;
    expect(await desk.exec(code)).toMatchObject({ status: "completed", value: fake });
    const thrown = expectStatus(
      "failed",
      await desk.exec(`throw Object.assign(new Error("x"), { code: "aborted", runId: "mine" })`),
    );
    expect(thrown.code).toBe("internal_error");
  });
});

describe("completed", () => {
  test("[exec-wait:40] comes when calls that nobody awaited have settled", async () => {
    await using desk = openDesk();
    const result = desk.exec("tools.gate({}); tools.echo({}); text('returning'); return 1");
    await until(() => desk.gate.made === 1 && desk.told.length === 1);
    let isOver = false;
    void result.then(() => (isOver = true));
    // Many turns later the program is still not over, since its call is not.
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
    expect(isOver).toBe(false);
    desk.gate.release();
    expect(await result).toMatchObject({ status: "completed", value: 1 });
    expect(desk.gate.open).toBe(0);
  });

  test("[exec-wait:40] does not come while such a call is pending at the deadline", async () => {
    await using desk = openDesk({ config: QUICK });
    const waiting = expectStatus("waiting", await desk.exec("tools.gate({}); return 1"));
    expect(waiting.reason).toBe("pending_tools");
    expect(waiting.pendingToolCalls).toMatchObject([{ tool: "core:core:gate" }]);
    desk.gate.release();
    expect(await desk.wait(waiting.runId)).toMatchObject({ status: "completed", value: 1 });
  });

  test("[exec-wait:40] comes for the contract's example: echo({}); return 1", async () => {
    await using desk = openDesk();
    const result = await desk.exec("const { echo } = tools; echo({}); return 1");
    expect(result).toMatchObject({ status: "completed", value: 1 });
    expect(desk.told).toHaveLength(1);
  });
});

describe("failed", () => {
  test.each([
    ["throw new Error('x')", "internal_error"],
    ["await tools.boom({})", "nested_tool_failed"],
    ["for (;;) {}", "timeout"],
    ["const all = []; for (;;) all.push('x'.repeat(1e5) + all.length)", "memory_limit_exceeded"],
    ["await new Promise(() => {})", "internal_error"],
    ["return 'x'.repeat(6_000_000)", "output_limit_exceeded"],
  ])("[exec-wait:41] by %s has the output that was made before", async (code, expected) => {
    // Only the endless program should use up its time.
    await using desk = openDesk({ config: expected === "timeout" ? QUICK : true });
    const before = "text('a'); json({ b: 1 }); console.warn('c'); await tools.echo({}); text('d');";
    const result = expectStatus("failed", await desk.exec(`${before} ${code}`));
    expect(result.code).toBe(expected);
    expect(result.output).toEqual([
      { type: "text", text: "a" },
      { type: "json", value: { b: 1 } },
      { type: "text", text: "c" },
      { type: "text", text: "d" },
    ]);
  });

  test("[exec-wait:41] in a later exchange has the output of that exchange", async () => {
    await using desk = openDesk({ config: QUICK });
    const code = "text('a'); await tools.gate(); text('b'); throw new Error('x')";
    const { runId, output } = expectStatus("waiting", await desk.exec(code));
    expect(output).toEqual([{ type: "text", text: "a" }]);
    desk.gate.release();
    const failed = expectStatus("failed", await desk.wait(runId));
    expect(failed.output).toEqual([{ type: "text", text: "b" }]);
  });
});
