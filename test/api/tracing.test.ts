/** Spans of runs, recorded by the real OpenTelemetry SDK, for every entry point. */
import { context, type Tracer, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { tool } from "ai";
import { createHost, type ToolSet } from "codecell";
import { runCodeMode } from "codecell/ai";
import { withTracing } from "codecell/otel";
import { createAgentRuntime } from "codecell/surface";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const tracer = provider.getTracer("test");
const host = withTracing(createHost({ workers: 1 }), { tracer });

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterEach(() => exporter.reset());
afterAll(async () => {
  context.disable();
  await host[Symbol.asyncDispose]();
});

const SECRET = "hunter2";
const tools: ToolSet = {
  read: {
    input: z.object({ path: z.string() }),
    execute: () => {
      tracer.startSpan("database").end();
      return SECRET;
    },
  },
  fail: {
    execute: () => {
      throw new Error(SECRET);
    },
  },
  ask: { execute: (_input, { resolution, suspend }) => resolution ?? suspend(SECRET) },
};

function spans(): readonly ReadableSpan[] {
  return exporter.getFinishedSpans();
}

function spanOf(name: string): ReadableSpan {
  const [span, ...others] = spans().filter((one) => one.name === name);
  if (span === undefined || others.length > 0) {
    throw new Error(
      `Not one "${name}" among ${spans()
        .map((one) => one.name)
        .join(", ")}`,
    );
  }
  return span;
}

function parentOf({ parentSpanContext }: ReadableSpan): string | undefined {
  return spans().find((one) => one.spanContext().spanId === parentSpanContext?.spanId)?.name;
}

describe("a host with tracing", () => {
  test("leaves a span for a run, one for each call beneath it, and what tools record beneath that [otel:spans]", async () => {
    const source = `await tools.read({ path: "/etc" }); return "${SECRET}"`;
    const outer = tracer.startSpan("request");
    const { result } = context.with(trace.setSpan(context.active(), outer), () =>
      host.start({ source, tools }),
    );
    const { runId, stats } = await result;
    outer.end();
    expect(parentOf(spanOf("codecell.run"))).toBe("request");
    expect(parentOf(spanOf("execute_tool read"))).toBe("codecell.run");
    expect(parentOf(spanOf("database"))).toBe("execute_tool read");
    expect(spanOf("codecell.run").attributes).toMatchObject({
      "codecell.run.beginning": "start",
      "codecell.run.id": runId,
      "codecell.run.status": "completed",
      "codecell.run.calls": stats.calls,
    });
    expect(spanOf("execute_tool read").attributes).toMatchObject({
      "gen_ai.tool.name": "read",
      "gen_ai.tool.call.id": `${runId}:0`,
      "codecell.call.outcome": "output",
    });
  });

  test("records the codes of failures, also for calls that reached no tool [otel:spans]", async () => {
    const source = `
      await Promise.allSettled([tools.read({}), tools.fail({})]);
      return tools.toString();`;
    await host.start({ source, tools }).result;
    const unnamed = spans().filter(({ name }) => name === "execute_tool");
    const codes = unnamed.map(({ attributes }) => attributes["error.type"]);
    expect(codes).toEqual(["invalid_input", "unknown_tool"]);
    expect(spanOf("execute_tool fail").attributes).toMatchObject({ "error.type": "tool_failed" });
    expect(spanOf("execute_tool fail").status).toMatchObject({ code: 2 });
    expect(spanOf("codecell.run").attributes["codecell.run.status"]).toBe("failed");
  });

  test("ends the span of a suspended run, and begins another when it is resumed [otel:spans]", async () => {
    const source = "return await tools.ask()";
    const asked = await host.start({ source, tools }).result;
    if (asked.status !== "suspended") throw new Error("It was to wait");
    expect(spanOf("execute_tool ask").attributes).toMatchObject({ "codecell.call.outcome": "asked" });
    expect(spanOf("codecell.run").attributes).toMatchObject({ "codecell.run.status": "suspended" });
    exporter.reset();
    const { token } = asked.suspension;
    await host.resume({ token, tools, resolutions: { [`${asked.runId}:0`]: { resolution: 1 } } }).result;
    expect(spanOf("codecell.run").attributes).toMatchObject({
      "codecell.run.beginning": "resume",
      "codecell.run.id": asked.runId,
      "codecell.run.status": "completed",
    });
  });

  test("records no sources, inputs, outputs or messages [otel:silent]", async () => {
    const source = `const text = "${SECRET}"; await tools.read({ path: text }); await tools.fail(text)`;
    await host.start({ source, tools }).result;
    const told = spans().map(({ name, attributes, events, status }) => ({
      name,
      attributes,
      events,
      status,
    }));
    expect(told.length).toBeGreaterThan(2);
    expect(JSON.stringify(told)).not.toContain(SECRET);
  });

  test("names no tool that does not exist [otel:silent]", async () => {
    const source = `await tools["${SECRET}"]({ ["__proto__"]: 1 }).catch(() => {}); return 1`;
    await host.start({ source, tools }).result;
    expect(spanOf("execute_tool").attributes).not.toHaveProperty(["gen_ai.tool.name"]);
    expect(JSON.stringify(spans().map(({ name, attributes }) => [name, attributes]))).not.toContain(SECRET);
  });

  test("leaves spans for fetches [otel:spans]", async () => {
    const fetchPolicy = { allowedOrigins: ["https://codecell.invalid"] };
    const source = `await fetch("https://elsewhere.invalid/").catch(() => {}); return 1`;
    const { result } = host.start({ source, tools, fetchPolicy });
    expect(await result).toMatchObject({ status: "completed" });
    await vi.waitUntil(() => spans().some(({ name }) => name === "codecell.run"), 60_000);
    expect(spanOf("execute_tool fetch").attributes).toMatchObject({ "codecell.call.outcome": "failure" });
    expect(parentOf(spanOf("execute_tool fetch"))).toBe("codecell.run");
  });

  test("names a tool that has the name under which fetches are recorded, where there is no fetch [otel:spans]", async () => {
    const name = "globalThis.fetch";
    const named: ToolSet = { [name]: { execute: () => 1 } };
    const { result } = host.start({ source: `return await tools["${name}"]()`, tools: named });
    expect(await result).toMatchObject({ value: 1 });
    expect(spanOf(`execute_tool ${name}`).attributes).toMatchObject({ "codecell.call.outcome": "output" });
  });

  test("ends a span for a run that is refused at the start [otel:spans]", () => {
    expect(() => host.start({ source: 1 as never })).toThrow(TypeError);
    expect(spanOf("codecell.run").attributes).toMatchObject({ "codecell.run.status": "refused" });
  });

  test("changes nothing if its tracer throws [otel:silent]", async () => {
    const broken = {
      startSpan: () => {
        throw new Error("no exporter");
      },
    } as unknown as Tracer;
    await using own = withTracing(createHost({ workers: 1 }), { tracer: broken });
    const { result } = own.start({ source: "return await tools.read({ path: '' })", tools });
    expect(await result).toMatchObject({ status: "completed", value: SECRET });
  });

  test("serves codecell/ai and codecell/surface [otel:spans]", async () => {
    const read = tool({ inputSchema: z.object({}), execute: () => 1 });
    await runCodeMode({ js: "return await tools.read({})", tools: { read }, options: { host } });
    expect(parentOf(spanOf("execute_tool read"))).toBe("codecell.run");
    exporter.reset();
    await using runtime = createAgentRuntime({ host });
    await using agent = runtime.prepareAgentRun({
      config: true,
      tools: { core: { read: { execute: () => 1 } } },
      context: { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" },
    });
    await agent.exec({ code: "return await tools.read({})" });
    expect(parentOf(spanOf("execute_tool read"))).toBe("codecell.run");
  });
});
