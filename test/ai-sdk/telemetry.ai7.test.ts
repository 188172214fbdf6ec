/** Spans of code mode, recorded by the real OpenTelemetry SDK, alone and beneath those of the AI SDK. */
import { OpenTelemetry } from "@ai-sdk/otel";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { generateText, stepCountIs, type Telemetry, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import {
  type CodeModeOptions,
  continueCodeModeInterrupt,
  createCodeModeTool,
  runCodeMode,
} from "codecell/ai";
import { type CodeModeInterrupt, requestCodeModeInterrupt } from "codecell/ai";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const tracer = provider.getTracer("test");

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(provider);
});

afterEach(() => exporter.reset());

afterAll(() => {
  trace.disable();
  context.disable();
});

const SECRET = "hunter2";

const tools = {
  read: tool({
    inputSchema: z.object({ path: z.string() }),
    execute: async ({ path }) => {
      tracer.startSpan("database").end();
      return { path, text: SECRET };
    },
  }),
  fail: tool({
    inputSchema: z.object({}),
    execute: async (): Promise<string> => {
      throw new Error("No disk");
    },
  }),
};

const ON: CodeModeOptions = { telemetry: { isEnabled: true } };

function spans(): readonly ReadableSpan[] {
  return exporter.getFinishedSpans();
}

function named(name: string): ReadableSpan {
  const [span, ...more] = spans().filter((one) => one.name === name);
  if (span === undefined || more.length > 0) throw new Error(`There are ${more.length + 1} spans ${name}`);
  return span;
}

describe("telemetry", () => {
  test("a run and each nested call have a span, and what a tool records lies beneath its call", async () => {
    await runCodeMode({
      js: 'return await tools.read({ path: "a" })',
      tools,
      toolExecutionOptions: { toolCallId: "call_1" },
      options: {
        telemetry: { isEnabled: true, tracer, functionId: "agent.code_mode", metadata: { runtime: "ash" } },
      },
    });
    const [root, nested, inner] = ["ai.code_mode.execute", "ai.code_mode.nested_tool", "database"].map(named);
    expect(nested?.parentSpanContext?.spanId).toBe(root?.spanContext().spanId);
    expect(inner?.parentSpanContext?.spanId).toBe(nested?.spanContext().spanId);
    expect(root?.attributes).toMatchObject({
      "ai.telemetry.functionId": "agent.code_mode",
      "ai.telemetry.metadata.runtime": "ash",
      "code_mode.outer_tool_call.id": "call_1",
      "code_mode.source.bytes": 38,
      "code_mode.status": "completed",
      "code_mode.bridge_requests.count": 1,
    });
    expect(nested?.attributes).toMatchObject({
      "code_mode.tool.name": "read",
      "code_mode.tool_call.id": "call_1:tool-1",
      "code_mode.replayed": false,
      "code_mode.tool.input.bytes": 12,
      "code_mode.tool.output.bytes": 29,
      "code_mode.status": "fulfilled",
    });
  });

  test("the global tracer is used where none is given", async () => {
    await runCodeMode({ js: "return 1", tools, options: ON });
    expect(named("ai.code_mode.execute").attributes["code_mode.status"]).toBe("completed");
  });

  test("neither sources nor inputs nor outputs are recorded, and sizes only where they may be", async () => {
    await runCodeMode({
      js: `const { text } = await tools.read({ path: "/home/${SECRET}" }); console.log(text); return text`,
      tools,
      options: { telemetry: { isEnabled: true, recordInputs: false, recordOutputs: false } },
    });
    const written = spans().map(({ name, attributes, events }) =>
      JSON.stringify({ name, attributes, events }),
    );
    expect(written.join("\n")).not.toContain(SECRET);
    expect(written.join("\n")).not.toContain("bytes");
    expect(written).toHaveLength(3);
  });

  test("the query of a fetch is never recorded, also if the fetch failed", async () => {
    const js = 'await fetch("https://example.com/a?token=hunter2")';
    await expect(runCodeMode({ js, tools, options: { ...ON, fetchPolicy: {} } })).rejects.toThrow("fetch");
    expect(named("ai.code_mode.fetch").attributes).toMatchObject({
      "code_mode.fetch.url": "https://example.com/a",
      "code_mode.error.name": "CodeModeFetchError",
    });
    const told = spans().map(({ attributes, events, status }) => ({ attributes, events, status }));
    expect(JSON.stringify(told)).not.toContain(SECRET);
  });

  test("a tool that is named like the call behind fetch has a tool's span, where there is no fetch", async () => {
    const name = "globalThis.fetch";
    const js = `return await tools["${name}"]({ path: "a" })`;
    await runCodeMode({ js, tools: { [name]: tools.read }, options: ON });
    expect(named("ai.code_mode.nested_tool").attributes).toMatchObject({
      "code_mode.tool.name": name,
      "code_mode.tool.output.bytes": 29,
    });
  });

  test("failures are told with name, message and code, on the call and on the run", async () => {
    const failing = runCodeMode({ js: "await tools.fail({})", tools, options: ON });
    await expect(failing).rejects.toThrow("No disk");
    expect(named("ai.code_mode.nested_tool")).toMatchObject({
      status: { code: 2, message: "No disk" },
      attributes: { "code_mode.status": "rejected", "code_mode.error.message": "No disk" },
    });
    expect(named("ai.code_mode.execute")).toMatchObject({
      status: { code: 2 },
      attributes: { "code_mode.status": "failed", "code_mode.error.code": "CODE_MODE_HOST_TOOL_ERROR" },
    });
  });

  test("a continued run tells of the calls made before as replayed", async () => {
    const asking = {
      ...tools,
      connect: tool({
        inputSchema: z.object({}),
        execute: (_input, options) =>
          (options as { codeModeInterrupt?: unknown }).codeModeInterrupt === undefined
            ? requestCodeModeInterrupt({ kind: "auth" })
            : "connected",
      }),
    };
    const js = 'await tools.read({ path: "a" }); return await tools.connect({})';
    const interrupt = (await runCodeMode({ js, tools: asking, options: ON })) as CodeModeInterrupt;
    expect(named("ai.code_mode.execute").attributes["code_mode.status"]).toBe("interrupted");
    exporter.reset();
    const output = await continueCodeModeInterrupt({ interrupt, resolution: {}, tools: asking, options: ON });
    expect(output).toBe("connected");
    expect(named("ai.code_mode.execute").attributes).toMatchObject({
      "code_mode.continuation": true,
      "code_mode.bridge_requests.count": 2,
      "code_mode.bridge_requests.replayed_count": 1,
    });
    expect(
      spans()
        .filter(({ name }) => name === "ai.code_mode.nested_tool")
        .map(({ attributes }) => attributes["code_mode.replayed"]),
    ).toEqual([true, false]);
  });

  test("spans of calls that a run leaves behind end with the run", async () => {
    const abort = new AbortController();
    const stuck = {
      wait: tool({
        inputSchema: z.object({}),
        execute: (): Promise<string> => {
          abort.abort();
          return new Promise(() => {});
        },
      }),
    };
    const toolExecutionOptions = { abortSignal: abort.signal };
    const running = runCodeMode({
      js: "return await tools.wait({})",
      tools: stuck,
      toolExecutionOptions,
      options: ON,
    });
    await expect(running).rejects.toThrow("aborted");
    expect(named("ai.code_mode.nested_tool").attributes["code_mode.status"]).toBe("rejected");
    expect(named("ai.code_mode.execute").attributes["code_mode.status"]).toBe("failed");
  });

  test("a run that cannot begin has its span ended", async () => {
    const fetchPolicy = { allowedOrigins: ["nowhere"] };
    const running = runCodeMode({ js: "return 1", tools, options: { ...ON, fetchPolicy } });
    await expect(running).rejects.toThrow("allowedOrigins");
    expect(named("ai.code_mode.execute").attributes["code_mode.status"]).toBe("failed");
  });

  test("a tracer that throws changes nothing", async () => {
    const broken = {
      startSpan: () => {
        throw new Error("Broken");
      },
    };
    const options = { telemetry: { isEnabled: true, tracer: broken } };
    expect(await runCodeMode({ js: 'return (await tools.read({ path: "a" })).path', tools, options })).toBe(
      "a",
    );
    const half = { startSpan: () => ({}) };
    const other = { telemetry: { isEnabled: true, tracer: half } };
    expect(
      await runCodeMode({ js: 'return (await tools.read({ path: "a" })).path', tools, options: other }),
    ).toBe("a");
  });

  test.each<[string, () => unknown]>([
    [
      "throw",
      () => {
        throw new Error("Broken");
      },
    ],
    ["reject", () => Promise.reject(new Error("Broken"))],
  ])("spans whose functions %s change nothing, and are ended", async (_how, fail) => {
    const end = vi.fn<() => unknown>(fail);
    const setStatus = vi.fn<() => unknown>(fail);
    const span = { setAttributes: fail, recordException: fail, setStatus, end };
    const options = { telemetry: { isEnabled: true, tracer: { startSpan: () => span } } };
    await expect(runCodeMode({ js: "await tools.fail({})", tools, options })).rejects.toThrow("No disk");
    expect(end).toHaveBeenCalledTimes(2);
    expect(setStatus).toHaveBeenCalledTimes(2);
  });

  test("with the AI SDK's own telemetry, the run lies beneath the tool call that the model made", async () => {
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    };
    let step = 0;
    const model = new MockLanguageModelV4({
      doGenerate: async () => ({
        content:
          step++ === 0
            ? [
                {
                  type: "tool-call",
                  toolCallId: "call_1",
                  toolName: "codeMode",
                  input: JSON.stringify({ js: 'return await tools.read({ path: "a" })' }),
                },
              ]
            : [{ type: "text", text: "done" }],
        finishReason: { unified: step === 1 ? "tool-calls" : "stop", raw: undefined },
        usage,
        warnings: [],
      }),
    });
    await generateText({
      model,
      tools: { codeMode: createCodeModeTool(tools, ON) },
      stopWhen: stepCountIs(3),
      prompt: "Read it",
      // Its package brings an `ai` of its own, a patch older: the same type by another name.
      telemetry: { integrations: [new OpenTelemetry({ tracer }) as unknown as Telemetry] },
    });
    const root = named("ai.code_mode.execute");
    const parent = spans().find((one) => one.spanContext().spanId === root.parentSpanContext?.spanId);
    expect(parent?.name).toContain("execute_tool");
    const calls = named("ai.code_mode.nested_tool");
    expect(calls.spanContext().traceId).toBe(parent?.spanContext().traceId);
  });
});
