/** Tools marked sequential: never two of them execute at once in a run, and none keeps the others waiting for ever. */
import { afterEach, describe, expect, test, vi } from "vitest";
import type { AgentTools } from "codecell/surface";
import { type DeskOptions, openDesk, until } from "./fixtures.ts";
import { failedOf, Stubborn, valueOf, waitingOf } from "./results.ts";

afterEach(() => {
  vi.useRealTimers();
});

interface Line {
  readonly a: Stubborn;
  readonly b: Stubborn;
  readonly options: DeskOptions;
}

function createLine(config: Record<string, unknown> = {}): Line {
  const [a, b] = [new Stubborn(), new Stubborn()];
  const tools: AgentTools = {
    core: {
      a: { sequential: true, execute: a.execute },
      asks: {
        sequential: true,
        execute: (_input, { resolution, suspend }) => resolution ?? suspend("really?"),
      },
      echo: { execute: (input: unknown) => ({ got: input }) },
    },
    // Another source, the same lock.
    mcp: { other: { b: { sequential: true, execute: b.execute } } },
  };
  return { a, b, options: { tools, config: { enabled: true, ...config } } };
}

describe("sequential tools", () => {
  test("follow each other in the order of their calls; others do not wait [exec-wait:50]", async () => {
    const { a, b, options } = createLine();
    await using desk = openDesk(options);
    const result = desk.exec("return Promise.all([tools.a(1), tools.b(2), tools.a(3), tools.echo(4)])");
    await until(() => a.made === 1 && desk.hooked.length === 4);
    expect(b.made).toBe(0);
    a.release("first");
    await until(() => b.made === 1);
    expect(a.made).toBe(1);
    b.release("second");
    await until(() => a.made === 2);
    a.release("third");
    expect(await valueOf(result)).toEqual(["first", "second", "third", { got: 4 }]);
    expect(a.inputs).toEqual([1, 3]);
  });

  test("follow each other also over a suspension, and between programs [exec-wait:50]", async () => {
    const { a, b, options } = createLine({ timeoutMs: 500 });
    await using desk = openDesk(options);
    const first = await waitingOf(desk.exec("return tools.a(1)"));
    const second = await waitingOf(desk.exec("return tools.b(2)"));
    expect([a.made, b.made]).toEqual([1, 0]);
    expect(second.pendingToolCalls).toMatchObject([{ tool: "mcp:other:b" }]);
    a.release("first");
    expect(await valueOf(desk.wait(first.runId))).toBe("first");
    const result = desk.wait(second.runId);
    await until(() => b.made === 1);
    b.release("second");
    expect(await valueOf(result)).toBe("second");
  });

  test("that fail let the next one in [exec-wait:50]", async () => {
    const { b, options } = createLine();
    const execute = (): never => {
      throw new Error("no");
    };
    const tools: AgentTools = { ...options.tools, core: { a: { sequential: true, execute } } };
    await using desk = openDesk({ ...options, tools });
    const result = desk.exec(
      "return (await Promise.allSettled([tools.a(1), tools.b(2)])).map((one) => one.status)",
    );
    await until(() => b.made === 1);
    b.release();
    expect(await valueOf(result)).toEqual(["rejected", "fulfilled"]);
  });

  test("that ask a person do not block others meanwhile [exec-wait:51]", async () => {
    const { b, options } = createLine();
    await using desk = openDesk(options);
    const asking = await waitingOf(desk.exec("return tools.asks({})"));
    const result = desk.exec("return tools.b(1)");
    await until(() => b.made === 1);
    // After the answer the call waits for its turn again.
    desk.run.resolve({ [asking.pendingToolCalls?.[0]?.id ?? ""]: { resolution: "yes" } });
    const answered = desk.wait(asking.runId);
    b.release("done");
    expect(await valueOf(result)).toBe("done");
    expect(await valueOf(answered)).toBe("yes");
    expect(desk.run.telemetry().counts.call).toBe(2);
  });

  test("whose program was aborted leave the queue without being called [exec-wait:50]", async () => {
    const { a, b, options } = createLine();
    await using desk = openDesk(options);
    const abort = new AbortController();
    const first = desk.exec("return tools.a(1)");
    await until(() => a.made === 1);
    const waiting = desk.run.exec({ code: "return tools.b('never')" }, { abortSignal: abort.signal });
    await until(() => desk.hooked.length === 2);
    const last = desk.exec("return tools.b('then')");
    await until(() => desk.hooked.length === 3);
    abort.abort();
    expect((await failedOf(waiting)).code).toBe("aborted");
    a.release("first");
    await until(() => b.made === 1);
    b.release("last");
    expect([await valueOf(first), await valueOf(last)]).toEqual(["first", "last"]);
    expect(b.inputs).toEqual(["then"]);
  });

  test("that ignore their abort keep their place for a bounded time [exec-wait:50]", async () => {
    const { a, b, options } = createLine();
    await using desk = openDesk(options);
    const abort = new AbortController();
    const first = desk.run.exec({ code: "return tools.a(1)" }, { abortSignal: abort.signal });
    await until(() => a.made === 1);
    const second = desk.exec("return tools.b(2)");
    await until(() => desk.hooked.length === 2);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    abort.abort();
    expect((await failedOf(first)).code).toBe("aborted");
    expect(a.signals[0]?.aborted).toBe(true);
    vi.advanceTimersByTime(4900);
    await new Promise(setImmediate);
    expect(b.made).toBe(0);
    vi.advanceTimersByTime(100);
    vi.useRealTimers();
    await until(() => b.made === 1);
    b.release("second");
    expect(await valueOf(second)).toBe("second");
  });

  test("have one queue per agent run [exec-wait:50]", async () => {
    const { a, b, options } = createLine();
    await using desk = openDesk(options);
    const first = desk.exec("return tools.a(1)");
    await until(() => a.made === 1);
    const other = desk.prepare({ ...options, context: OTHER });
    const second = other.exec({ code: "return tools.b(2)" });
    await until(() => b.made === 1);
    b.release("second");
    a.release("first");
    expect([await valueOf(first), await valueOf(second)]).toEqual(["first", "second"]);
  });
});

const OTHER = { agentId: "a2", runId: "r2", sessionId: "s2", sessionKey: "k2" };
