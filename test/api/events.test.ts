/** What the listener of a run hears, and when: `onEvent`. */
import { setTimeout as delay } from "node:timers/promises";
import { type CallMiddleware, type HostError, type LiveEvent, type OnEvent, type ToolSet } from "codecell";
import { describe, expect, test } from "vitest";
import { host } from "./harness.ts";

const tools: ToolSet = {
  echo: { input: { type: "object", required: ["n"] }, execute: (input: unknown) => input },
  ask: { execute: (_input, { resolution, suspend }) => resolution ?? suspend("may I?") },
};

/** A listener that keeps what it heard. */
function listen(): { readonly heard: LiveEvent[]; readonly onEvent: OnEvent } {
  const heard: LiveEvent[] = [];
  return { heard, onEvent: (event) => void heard.push(event) };
}

const typesOf = (events: readonly { readonly type: string }[]): string[] => events.map(({ type }) => type);

describe("a listener", () => {
  test("hears the steps of a call, with the input of each, and its text [events:one]", async () => {
    const { heard, onEvent } = listen();
    const middleware: CallMiddleware[] = [{ decide: () => ({ rewrite: { n: 2 } }) }];
    const from = Date.now();
    const { result } = host.start({
      source: "return await tools.echo({ n: 1 })",
      tools,
      middleware,
      onEvent,
    });
    expect(await result).toMatchObject({ status: "completed", value: { n: 2 } });
    expect(typesOf(heard)).toEqual([
      "run-start",
      "call-start",
      "call-decide",
      "call-rewrite",
      "call-execute",
      "call-end",
      "run-end",
    ]);
    expect(heard.flatMap((event) => ("input" in event ? [event.input] : []))).toEqual([
      { n: 1 },
      { n: 1 },
      { n: 2 },
      { n: 2 },
    ]);
    expect(heard[1]).toMatchObject({ inputText: '{"n":1}' });
    const times = heard.map(({ at }) => at);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(Math.min(...times)).toBeGreaterThanOrEqual(from);
  });

  test("hears no decision about calls that are refused before [events:one]", async () => {
    const { heard, onEvent } = listen();
    const source =
      "return Promise.allSettled([tools.echo({}), tools.none({}), tools.echo({ n: 1, ['__proto__']: 1 })])";
    await host.start({ source, tools, onEvent }).result;
    const ofCalls = heard.filter((event) => "index" in event);
    expect(ofCalls.map(({ type, index }) => `${type} ${index}`)).toEqual([
      "call-start 0",
      "call-start 1",
      "call-end 0",
      "call-end 1",
      "call-end 2",
    ]);
  });

  test("hears what a call asks for, and of its end when the run was resumed [events:one]", async () => {
    const [first, second] = [listen(), listen()];
    const source = "return await tools.ask()";
    const asked = await host.start({ source, tools, onEvent: first.onEvent }).result;
    if (asked.status !== "suspended") throw new Error("It was to wait");
    const steps = ["call-start", "call-decide", "call-execute"];
    expect(typesOf(first.heard)).toEqual(["run-start", ...steps, "call-ask", "run-end"]);
    expect(first.heard.at(-2)).toMatchObject({ payload: "may I?", callId: `${asked.runId}:0` });
    const { token } = asked.suspension;
    const resolutions = { [`${asked.runId}:0`]: { resolution: 1 } };
    await host.resume({ token, tools, resolutions, onEvent: second.onEvent }).result;
    expect(typesOf(second.heard)).toEqual(["run-start", ...steps, "call-end", "run-end"]);
    const [begun] = second.heard;
    // When the run began first, and when it was resumed.
    expect(begun?.type === "run-start" && begun.clock < begun.at).toBe(true);
  });

  test("hears of calls that go on after a suspension, which are in no stream [events:one]", async () => {
    const { heard, onEvent } = listen();
    const gate = Promise.withResolvers<string>();
    const slow: ToolSet = { slow: { execute: () => gate.promise } };
    const { events, result } = host.start({
      source: "return await tools.slow()",
      tools: slow,
      atDeadline: "suspend",
      limits: { wallTimeMs: 200 },
      onEvent,
    });
    expect(await result).toMatchObject({ status: "suspended" });
    expect(typesOf(heard).at(-1)).toBe("run-end");
    gate.resolve("late");
    while (typesOf(heard).at(-1) === "run-end") await delay(5);
    expect(heard.at(-1)).toMatchObject({ type: "call-end", outcome: { status: "completed" } });
    expect(typesOf(await Array.fromAsync(events)).at(-1)).toBe("run-end");
  });

  test("hears which calls were told to stop [events:one]", async () => {
    const { heard, onEvent } = listen();
    const stopped: ToolSet = {
      ...tools,
      slow: { execute: (_input, { signal }) => delay(20_000, undefined, { signal }) },
    };
    const source = "tools.slow().catch(() => 0); await tools.echo({ n: 1 }); throw new Error('no')";
    await host.start({ source, tools: stopped, onEvent }).result;
    const end = heard.find((event) => event.type === "call-end" && event.tool === "slow");
    expect(end).toMatchObject({ outcome: { status: "failed", isAborted: true } });
  });

  test.each<[string, OnEvent]>([
    [
      "throws",
      () => {
        throw new Error("deaf");
      },
    ],
    ["rejects", async () => Promise.reject(new Error("deaf"))],
  ])("that %s changes nothing, and its host is told [host:errors]", async (_how, onEvent) => {
    const told: HostError[] = [];
    const onError = (report: HostError): void => void told.push(report);
    const { runId, result } = host.start({
      source: "return await tools.echo({ n: 1 })",
      tools,
      onEvent,
      onError,
    });
    expect(await result).toMatchObject({ status: "completed", value: { n: 1 } });
    await delay(0);
    expect(told).toHaveLength(6);
    for (const report of told) {
      expect(report).toMatchObject({ source: "onEvent", runId, error: { message: "deaf" } });
    }
  });

  test("has to be a function", () => {
    expect(() => host.start({ source: "", onEvent: {} as never })).toThrow("onEvent must be a function");
  });
});
