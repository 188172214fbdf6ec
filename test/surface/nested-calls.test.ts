/** A call of a program is the same as a direct call, and the guest gets nothing of the host. */
import { describe, expect, test } from "vitest";
import type { AgentToolSet, AgentTools } from "codecell/surface";
import { CONTEXT, type Desk, openDesk, until } from "./fixtures.ts";
import { failedOf, valueOf, waitingOf } from "./results.ts";

/** Tools of a test beside `echo`. */
const withCore = (core: AgentToolSet): AgentTools => ({
  core: { echo: { execute: (input: unknown) => ({ got: input }) }, ...core },
});

describe("the context of a nested call", () => {
  test("is the context of a direct call [exec-wait:49]", async () => {
    const context = { ...CONTEXT, sandbox: { network: false } };
    await using desk = openDesk({ context });
    await valueOf(desk.exec("return tools.echo({ a: 1 })"));
    expect(desk.told).toHaveLength(1);
    // The very same object, so a nested call can read whatever a direct call can.
    expect(desk.told[0]?.context).toBe(context);
    expect(desk.told[0]?.input).toEqual({ a: 1 });
  });

  test("is the same in a wait [exec-wait:49]", async () => {
    await using desk = openDesk();
    const { runId } = await waitingOf(desk.exec("await yield_control(); return tools.echo({ b: 2 })"));
    await valueOf(desk.wait(runId));
    expect(desk.told.map(({ context }) => context)).toEqual([CONTEXT]);
  });

  test("has a signal that aborts when the program ends [exec-wait:49]", async () => {
    await using desk = openDesk();
    const failed = desk.exec("tools.gate({}); await tools.echo(1); throw new Error('enough')");
    expect((await failedOf(failed)).code).toBe("internal_error");
    expect(desk.gate.signals.map(({ aborted }) => aborted)).toEqual([true]);
  });
});

describe("hooks", () => {
  test("see each call once, by its real name and input [exec-wait:50]", async () => {
    await using desk = openDesk();
    await valueOf(
      desk.run.exec(
        {
          code: `await tools.echo({ a: 1 });
            await tools.call("mcp:github:create_issue", { title: "t" });
            await tools.search("issue"); await tools.describe("core:core:echo");
            return 1`,
        },
        { toolCallId: "call_7" },
      ),
    );
    expect(desk.hooked).toHaveLength(2);
    expect(desk.hooked).toMatchObject([
      { name: "echo", tool: "core:core:echo", input: { a: 1 }, parentToolCallId: "call_7", context: CONTEXT },
      { name: "create_issue", tool: "mcp:github:create_issue", input: { title: "t" } },
    ]);
    expect(new Set(desk.hooked.map(({ callId }) => callId)).size).toBe(2);
  });

  test("that block prevent the tool from running [exec-wait:50]", async () => {
    await using desk = openDesk({ beforeToolCall: () => ({ block: "not on Sundays" }) });
    const code = `try { await tools.echo({}); } catch (e) { return [e instanceof Error, e.message, e.code] }`;
    expect(await valueOf(desk.exec(code))).toEqual([
      true,
      expect.stringContaining("not on Sundays"),
      "denied",
    ]);
    expect(desk.told).toEqual([]);
  });

  test("that rewrite an input decide what is executed [exec-wait:50]", async () => {
    await using desk = openDesk({ beforeToolCall: async () => ({ input: { safe: true } }) });
    expect(await valueOf(desk.exec("return tools.echo({ rm: '/' })"))).toEqual({ got: { safe: true } });
    expect(desk.told.map(({ input }) => input)).toEqual([{ safe: true }]);
  });
});

describe("failures of tools", () => {
  test("are plain guest errors, without anything of the host [exec-wait:53]", async () => {
    await using desk = openDesk();
    const code = `try { await tools.boom({}); } catch (e) {
      let host = "none";
      try { host = typeof e.constructor.constructor("return process")(); } catch {}
      return {
        isError: e instanceof Error, message: e.message, name: e.name, host,
        proto: Object.getPrototypeOf(e) === Error.prototype || Object.getPrototypeOf(Object.getPrototypeOf(e)) === Error.prototype,
        secret: e.secret ?? null, names: Object.getOwnPropertyNames(e), stack: String(e.stack), cause: e.cause ?? null,
      };
    }`;
    const value = await valueOf(desk.exec(code));
    expect(value).toMatchObject({
      isError: true,
      message: "nope",
      name: "Error",
      host: "none",
      proto: true,
      secret: null,
      cause: null,
    });
    const told = JSON.stringify(value);
    for (const word of ["S3CRET", "node:", "file:", "fixtures", ".ts:", "/work"])
      expect(told).not.toContain(word);
  });

  test("that nobody catches fail the program, with message and tool id [exec-wait:54]", async () => {
    await using desk = openDesk();
    const { code, error } = await failedOf(desk.exec("text('before'); await tools.boom({}); return 1"));
    expect(code).toBe("nested_tool_failed");
    expect(error).toContain("nope");
    expect(error).toContain("core:core:boom");
    expect(error).not.toContain("S3CRET");
  });

  test("that reject Promise.any show the message of the first [exec-wait:54]", async () => {
    await using desk = openDesk();
    const { code, error } = await failedOf(desk.exec("return Promise.any([tools.boom({}), tools.boom({})])"));
    expect(code).toBe("nested_tool_failed");
    expect(error).toContain("nope");
    const own = await failedOf(
      desk.exec("return Promise.any([Promise.reject(new Error('mine')), tools.boom({})])"),
    );
    expect(own.error).toContain("mine");
    // An error with a message of its own keeps it.
    const named = await failedOf(desk.exec("throw new AggregateError([new Error('a')], 'both')"));
    expect(named.error).toContain("both");
  });

  test.each([
    ["null", null],
    ["a text", "just text"],
    ["an object without a prototype", Object.create(null) as unknown],
    [
      "an error that fails to tell",
      Object.defineProperty(new Error("x"), "message", {
        get: () => {
          throw new Error("S3CRET");
        },
      }),
    ],
    ["an error whose name is an object", Object.assign(new Error("x"), { name: { S3CRET: 1n } })],
  ])("may be anything: %s [exec-wait:53]", async (_what, thrown) => {
    const execute = (): never => {
      throw thrown;
    };
    await using desk = openDesk({ tools: withCore({ odd: { execute } }) });
    const value = await valueOf(
      desk.exec(
        `try { await tools.odd({}); } catch (e) { return [e instanceof Error, e.code, typeof e.message] }`,
      ),
    );
    expect(value).toEqual([true, "tool_failed", "string"]);
    const { calls } = await desk.run.trajectory();
    expect(calls).toMatchObject([{ tool: "core:core:odd", status: "failed" }]);
    expect(JSON.stringify(calls)).not.toContain("S3CRET");
  });
});

describe("calls at the same time", () => {
  const open = async (desk: Desk, count: number): Promise<void> => until(() => desk.gate.open === count);

  test("are all in flight together [exec-wait:55]", async () => {
    await using desk = openDesk();
    const result = desk.exec(
      "return (await Promise.all(Array.from({ length: 16 }, (_, i) => tools.gate({ i })))).length",
    );
    await open(desk, 16);
    desk.gate.releaseAll();
    expect(await valueOf(result)).toBe(16);
    expect(desk.gate.most).toBe(16);
  });

  test("beyond the cap wait for their turn [exec-wait:56]", async () => {
    await using desk = openDesk();
    const result = desk.exec(
      "return (await Promise.all(Array.from({ length: 17 }, (_, i) => tools.gate({ i })))).length",
    );
    await open(desk, 16);
    desk.gate.release();
    await until(() => desk.gate.made === 17);
    desk.gate.releaseAll();
    expect(await valueOf(result)).toBe(17);
    expect(desk.gate.most).toBe(16);
  });

  test("execute one after the other with a cap of one [exec-wait:56]", async () => {
    await using desk = openDesk({ config: { enabled: true, maxPendingToolCalls: 1 } });
    const result = desk.exec("return Promise.all([1, 2, 3].map((i) => tools.gate({ i })))");
    for (const made of [1, 2, 3]) {
      await until(() => desk.gate.made === made);
      expect(desk.gate.open).toBe(1);
      desk.gate.release(made);
    }
    expect(await valueOf(result)).toEqual([1, 2, 3]);
    expect(desk.gate.most).toBe(1);
  });

  test("are all refused beyond the bound of the queue [exec-wait:56]", async () => {
    await using desk = openDesk();
    const batch = `await Promise.all(Array.from({ length: 1041 }, (_, i) => tools.echo({ i })))`;
    const { code, error } = await failedOf(desk.exec(`${batch}; return 1`));
    expect(code).toBe("too_many_pending_tool_calls");
    expect(error).toContain("1041");
    expect(desk.told).toEqual([]);
    expect(desk.hooked).toEqual([]);
    // One call fewer fits, and the refused batch has no effect on the run.
    const fits = `return (await Promise.all(Array.from({ length: 1040 }, (_, i) => tools.echo({ i })))).length`;
    expect(await valueOf(desk.exec(fits))).toBe(1040);
    expect(desk.told).toHaveLength(1040);
  });

  test("can race, and the first to settle wins [exec-wait:57]", async () => {
    await using desk = openDesk();
    const code = `const gate = tools.gate({});
      const first = await Promise.race([gate, tools.slow({ ms: 1 })]);
      const then = await tools.echo({ then: first });
      return [first, then.got.then, await gate]`;
    const result = desk.exec(code);
    await until(() => desk.hooked.some(({ name }) => name === "echo"));
    desk.gate.release("late");
    expect(await valueOf(result)).toEqual([1, 1, "late"]);
    expect(await valueOf(desk.exec("return tools.echo(1)"))).toEqual({ got: 1 });
  });

  test("can race, and a loser that fails late has no effect [exec-wait:57]", async () => {
    await using desk = openDesk();
    const code = `const loser = async () => { await tools.gate({ n: 2 }); throw new Error("lost") };
      const winner = await Promise.race([tools.gate({ n: 1 }), loser()]);
      await tools.echo(winner);
      return winner`;
    const result = desk.exec(code);
    await open(desk, 2);
    desk.gate.release("first");
    await until(() => desk.told.length === 1);
    desk.gate.release("second");
    expect(await valueOf(result)).toBe("first");
  });
});

describe("rejections", () => {
  test.each([
    ["of a call that nobody awaits", "tools.boom({}); return 1", "nested_tool_failed"],
    [
      "that comes after the program's end",
      "tools.slow({ ms: 5 }).then(() => tools.boom({})); return 1",
      "nested_tool_failed",
    ],
    ["of the program's own", "Promise.reject(new Error('mine')); return 1", "internal_error"],
  ])("%s fails the program [exec-wait:58]", async (_what, code, expected) => {
    await using desk = openDesk();
    const failed = await failedOf(desk.exec(code));
    expect(failed.code).toBe(expected);
    expect(failed.error).toContain(expected === "internal_error" ? "mine" : "nope");
  });

  test.each([
    [
      "allSettled",
      "return (await Promise.allSettled([tools.boom({}), tools.echo(1)])).map((one) => one.status)",
    ],
    [
      "a late catch",
      "const call = tools.boom({}); await tools.echo(1); await tools.echo(2); return [await call.catch((e) => e.message), 'ok']",
    ],
    ["a catch that nobody awaits", "tools.boom({}).catch(() => {}); return ['a', 'b']"],
  ])("%s handles them [exec-wait:58]", async (_what, code) => {
    await using desk = openDesk();
    expect(await valueOf(desk.exec(code))).toHaveLength(2);
  });
});
