/** Who decides about nested calls: hooks and approvals, whatever they decide and however long they take. */
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Approve, BeforeToolCall, CallRecord } from "codecell/surface";
import { CONTEXT, type Desk, openDesk, openWarmDesk, until } from "./fixtures.ts";
import { failedOf, valueOf, waitingOf } from "./results.ts";

const CATCHING = `try { return await tools.needs_ok({ a: 1 }) } catch (e) { return [e instanceof Error, e.code, e.message] }`;

const callsOf = async (desk: Desk): Promise<readonly CallRecord[]> => (await desk.run.trajectory()).calls;

/** An approval that the test gives by hand. */
class Person {
  readonly asked: Parameters<Approve>[0][] = [];
  readonly #waiting: ((decision: Awaited<ReturnType<Approve>>) => void)[] = [];

  readonly approve: Approve = (call) => {
    this.asked.push(call);
    return new Promise((resolve) => this.#waiting.push(resolve));
  };

  decide(decision: Awaited<ReturnType<Approve>>): void {
    this.#waiting.shift()?.(decision);
  }
}

afterEach(() => {
  vi.useRealTimers();
});

describe("a value that is not a decision", () => {
  const wrong = [null, true, false, "allow", {}, [], { block: undefined }, { block: true }, { allow: true }];

  test.each(wrong.map((given) => [JSON.stringify(given), given] as const))(
    "from a hook or an approval denies: %s [policy:fails-closed]",
    async (_text, given) => {
      const told: unknown[] = [];
      const onError = ({ error }: { readonly error: unknown }): void => void told.push(String(error));
      const message = expect.stringContaining("it could not be authorised") as string;
      await using hooked = openDesk({ beforeToolCall: () => given as never, onError });
      expect(await valueOf(hooked.exec(CATCHING))).toEqual([true, "denied", message]);
      // This word is valid for an approval, so use another one.
      const approval = given === "allow" ? "yes" : given;
      await using asked = openDesk({ approve: () => approval as never, onError });
      expect(await valueOf(asked.exec(CATCHING))).toEqual([true, "denied", message]);
      expect([hooked.approved.calls, asked.approved.calls]).toEqual([0, 0]);
      expect(told).toEqual([
        expect.stringContaining("beforeToolCall gave no decision"),
        expect.stringMatching(/approve gave .+ is not a decision: give "allow", /u),
      ]);
    },
  );
});

describe("approval", () => {
  test("that is refused rejects in the program [exec-wait:51]", async () => {
    await using desk = openDesk({
      approve: ({ name }) => (name === "needs_ok" ? { deny: "not today" } : "allow"),
    });
    const told = [true, "denied", expect.stringContaining("not today") as string];
    expect(await valueOf(desk.exec(CATCHING))).toEqual(told);
    expect(await valueOf(desk.exec("return tools.echo(1)"))).toEqual({ got: 1 });
    const { code, error } = await failedOf(desk.exec("return tools.needs_ok({})"));
    expect(code).toBe("nested_tool_failed");
    expect(error).toContain("not today");
    expect(desk.approved.calls).toBe(0);
  });

  test("that is given lets the call happen, with the input that was approved [exec-wait:51]", async () => {
    const person = new Person();
    await using desk = openDesk({ approve: person.approve, beforeToolCall: () => ({ input: { b: 2 } }) });
    const result = desk.exec("return tools.needs_ok({ a: 1 })");
    await until(() => person.asked.length === 1);
    expect(desk.approved.calls).toBe(0);
    person.decide("allow");
    expect(await valueOf(result)).toBe(0);
    expect(desk.approved.calls).toBe(1);
    expect(person.asked).toMatchObject([
      {
        name: "needs_ok",
        tool: "core:core:needs_ok",
        input: { b: 2 },
        context: CONTEXT,
        resolution: undefined,
      },
    ]);
  });

  test("may take longer than the program's own time [exec-wait:51]", async () => {
    // This test is about time itself: a person takes longer than the program may.
    const approve: Approve = () => new Promise((resolve) => setTimeout(resolve, 1500, "allow"));
    await using desk = openDesk({ approve, config: { enabled: true, timeoutMs: 1000 } });
    await valueOf(desk.exec("return 'the worker has started'"));
    expect(await valueOf(desk.exec("return [await tools.needs_ok({}), await tools.needs_ok({})]"))).toEqual([
      0, 1,
    ]);
  });

  test.each([
    ["that throws", () => Promise.reject(new Error("S3CRET"))],
    [
      "that throws at once",
      (): never => {
        throw new Error("S3CRET");
      },
    ],
    ["that gives nothing", () => undefined as unknown as "allow"],
    ["that gives something else", () => true as unknown as "allow"],
    ["that denies without a word", () => ({ deny: "" })],
  ])("%s allows nothing [exec-wait:51]", async (_what, approve: Approve) => {
    await using desk = openDesk({ approve });
    const value = await valueOf(desk.exec(CATCHING));
    expect(value).toEqual([true, "denied", expect.stringMatching(/could not be authorised|was denied/u)]);
    expect(desk.approved.calls).toBe(0);
    expect(await callsOf(desk)).toMatchObject([
      { tool: "core:core:needs_ok", status: "failed", input: { a: 1 } },
    ]);
    expect(JSON.stringify([value, await callsOf(desk)])).not.toContain("S3CRET");
  });

  describe("that needs a person elsewhere", () => {
    const approve: Approve = ({ name, resolution }) =>
      name !== "needs_ok" || resolution === "yes" ? "allow" : { suspend: { question: "May I?" } };

    test("suspends the program until it is resolved [exec-wait:51]", async () => {
      await using desk = openDesk({ approve });
      const waiting = await waitingOf(
        desk.exec("text('a'); const n = await tools.needs_ok({ a: 1 }); text('b'); return n"),
      );
      const [pending] = waiting.pendingToolCalls ?? [];
      expect(waiting.reason).toBe("pending_tools");
      expect(pending).toMatchObject({
        tool: "core:core:needs_ok",
        input: '{"a":1}',
        asks: { question: "May I?" },
      });
      expect(await callsOf(desk)).toMatchObject([{ status: "waiting", input: { a: 1 } }]);
      // Nobody has decided: the program waits again, and the call is still there.
      const again = await waitingOf(desk.wait(waiting.runId));
      expect(again.pendingToolCalls).toEqual(waiting.pendingToolCalls);
      desk.run.resolve({ [pending?.id ?? ""]: { resolution: "yes" } });
      const done = await desk.wait(waiting.runId);
      expect(done).toMatchObject({ status: "completed", value: 0, output: [{ type: "text", text: "b" }] });
      expect(desk.approved.calls).toBe(1);
      // Neither the hook nor the count happens twice.
      expect(desk.hooked).toHaveLength(1);
      expect(done.telemetry.counts.call).toBe(1);
      expect(done.telemetry.calledTools).toEqual(["core:core:needs_ok"]);
      expect(await callsOf(desk)).toMatchObject([{ status: "completed", input: { a: 1 }, result: 0 }]);
    });

    test("rejects in the program when the answer is no [exec-wait:51]", async () => {
      await using desk = openDesk({ approve });
      const { runId, pendingToolCalls = [] } = await waitingOf(desk.exec(CATCHING));
      desk.run.resolve({ [pendingToolCalls[0]?.id ?? ""]: { deny: "never" } });
      const told = [true, "denied", expect.stringContaining("never") as string];
      expect(await valueOf(desk.wait(runId))).toEqual(told);
      expect(desk.approved.calls).toBe(0);
      expect(await callsOf(desk)).toMatchObject([
        { status: "failed", input: { a: 1 }, error: { code: "denied" }, parentToolCallId: "exec_1" },
      ]);
    });

    test("sees the input that a hook made, before and after the suspension [exec-wait:51]", async () => {
      const person: unknown[] = [];
      await using desk = openDesk({
        beforeToolCall: () => ({ input: { rewritten: true } }),
        approve: (call) => {
          person.push(call.input);
          return approve(call);
        },
      });
      const { runId, pendingToolCalls = [] } = await waitingOf(desk.exec("return tools.needs_ok({ a: 1 })"));
      // The model sees what its program wrote.
      expect(pendingToolCalls[0]?.input).toBe('{"a":1}');
      desk.run.resolve({ [pendingToolCalls[0]?.id ?? ""]: { resolution: "yes" } });
      await valueOf(desk.wait(runId));
      expect(person).toEqual([{ rewritten: true }, { rewritten: true }]);
      expect(await callsOf(desk)).toMatchObject([{ input: { rewritten: true } }]);
    });
  });
});

describe("what the host adds", () => {
  test("to an input in a hook is for the tool, and is in no result [exec-wait:50]", async () => {
    await using desk = await openWarmDesk({
      config: { enabled: true, timeoutMs: 200 },
      beforeToolCall: ({ input }) => ({ input: { ...(input as object), key: "S3CRET" } }),
    });
    const waiting = await waitingOf(desk.exec("return tools.gate({ n: 1 })"));
    expect(waiting.pendingToolCalls).toMatchObject([{ input: '{"n":1}' }]);
    expect(JSON.stringify(waiting)).not.toContain("S3CRET");
    desk.gate.release();
    expect(JSON.stringify(await desk.wait(waiting.runId))).not.toContain("S3CRET");
  });

  test("to a question is shortened if it is long [exec-wait:51]", async () => {
    await using desk = openDesk({
      approve: () => ({ suspend: { draft: "x".repeat(1_000_000), to: "ana" } }),
    });
    const waiting = await waitingOf(desk.exec("return tools.needs_ok({})"));
    expect(waiting.pendingToolCalls?.[0]?.asks).toMatchObject({ to: "ana" });
    expect(JSON.stringify(waiting.pendingToolCalls).length).toBeLessThan(5000);
  });
});

describe("hooks that go wrong", () => {
  test.each<[string, BeforeToolCall]>([
    ["throws", () => Promise.reject(new Error("S3CRET"))],
    ["gives no decision", () => "sure" as unknown as undefined],
    ["gives null", () => null as unknown as undefined],
  ])("a hook that %s lets no call pass [exec-wait:50]", async (_what, beforeToolCall) => {
    await using desk = openDesk({ beforeToolCall });
    const value = await valueOf(desk.exec(CATCHING));
    expect(value).toEqual([true, "denied", expect.any(String)]);
    expect(JSON.stringify(value)).not.toContain("S3CRET");
    expect(desk.approved.calls).toBe(0);
    expect(await callsOf(desk)).toMatchObject([{ status: "failed", error: { code: "denied" } }]);
  });

  test("a hook that rewrites to an input that does not fit the schema lets no call pass [exec-wait:50]", async () => {
    await using desk = openDesk({ beforeToolCall: () => ({ input: { command: 5 } }) });
    const code = `try { await tools.exec({ command: "ls" }) } catch (e) { return [e.code, e.message] }`;
    expect(await valueOf(desk.exec(code))).toEqual(["denied", expect.stringContaining("command")]);
    expect(desk.commands).toEqual([]);
    expect(await callsOf(desk)).toMatchObject([{ tool: "core:core:exec", status: "failed" }]);
  });

  test("a hook may rewrite to a value that is not JSON [exec-wait:50]", async () => {
    await using desk = openDesk({
      beforeToolCall: ({ name }) => (name === "needs_ok" ? { input: 1n } : undefined),
    });
    expect(await valueOf(desk.exec("return tools.needs_ok({})"))).toBe(0);
  });

  test("time in a hook does not count as the program's time [exec-wait:50]", async () => {
    const beforeToolCall: BeforeToolCall = () =>
      new Promise((resolve) => setTimeout(resolve, 1500, undefined));
    await using desk = openDesk({ beforeToolCall, config: { enabled: true, timeoutMs: 1000 } });
    await valueOf(desk.exec("return 'the worker has started'"));
    expect(await valueOf(desk.exec("return tools.echo(1)"))).toEqual({ got: 1 });
  });
});

describe("an abort", () => {
  test.each(["hook", "approval"])(
    "while a %s is pending ends the program, and the call is not made [exec-wait:51]",
    async (who) => {
      const person = new Person();
      const abort = new AbortController();
      const asHook: BeforeToolCall = async (call) => {
        await person.approve({ ...call, resolution: undefined });
        return undefined;
      };
      await using desk = openDesk(who === "hook" ? { beforeToolCall: asHook } : { approve: person.approve });
      const result = desk.run.exec({ code: CATCHING }, { abortSignal: abort.signal });
      await until(() => person.asked.length === 1);
      abort.abort(new Error("enough"));
      expect((await failedOf(result)).code).toBe("aborted");
      expect(person.asked[0]?.signal.aborted).toBe(true);
      person.decide("allow");
      expect(await valueOf(desk.exec("return 1"))).toBe(1);
      expect(desk.approved.calls).toBe(0);
      expect(await callsOf(desk)).toMatchObject([
        { tool: "core:core:needs_ok", status: "aborted", input: { a: 1 } },
      ]);
      expect(desk.run.telemetry().counts.call).toBe(0);
    },
  );

  test("after a suspension reaches an approval that still waits [exec-wait:51]", async () => {
    const person = new Person();
    await using desk = openDesk({
      approve: ({ name, ...call }) => (name === "needs_ok" ? person.approve({ name, ...call }) : "allow"),
    });
    const { pendingToolCalls, reason } = await waitingOf(
      desk.exec("const call = tools.needs_ok({}); await yield_control(); return call"),
    );
    expect(reason).toBe("pending_tools");
    expect(pendingToolCalls).toMatchObject([{ tool: "core:core:needs_ok" }]);
    await desk.run.end();
    expect(person.asked[0]?.signal.aborted).toBe(true);
    person.decide("allow");
    await new Promise(setImmediate);
    expect(desk.approved.calls).toBe(0);
    expect(await callsOf(desk)).toMatchObject([{ status: "aborted" }]);
  });

  test("is not caused by a suspension: an approval that goes on is decided in the wait [exec-wait:51]", async () => {
    const person = new Person();
    await using desk = openDesk({ approve: person.approve });
    const { runId } = await waitingOf(
      desk.exec("const call = tools.needs_ok({}); await yield_control(); return call"),
    );
    const result = desk.wait(runId);
    person.decide({ deny: "too late" });
    const { code, error } = await failedOf(result);
    expect(code).toBe("nested_tool_failed");
    expect(error).toContain("too late");
    expect(await callsOf(desk)).toMatchObject([{ status: "failed", error: { code: "denied" } }]);
  });
});
