/** What the contract says in its sentences, section by section; its blocks are in contract-readme.test.ts. */
import { tool } from "ai";
import * as codeMode from "codecell/ai";
import { type CodeModeOptions, runCodeMode } from "codecell/ai";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";

const OUTER = { toolCallId: "call_1", messages: [] };
const anything = z.looseObject({});

const tools = {
  echo: tool({ inputSchema: anything, execute: async (input) => input }),
  gen: tool({ inputSchema: z.object({ size: z.number() }), execute: async ({ size }) => "x".repeat(size) }),
  fail: tool({
    inputSchema: anything,
    execute: async (): Promise<string> => {
      throw Object.assign(new RangeError("no such row", { cause: "the cause" }), {
        code: "E_ROW",
        query: "select secret",
      });
    },
  }),
};

const run = async (js: string, options: CodeModeOptions = {}): Promise<unknown> =>
  runCodeMode({ js, tools, options, toolExecutionOptions: OUTER });

/** What a program fails with. */
async function failureOf(running: Promise<unknown>): Promise<codeMode.CodeModeError> {
  const error: unknown = await running.then(
    (value) => new Error(`Not failed: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof codeMode.CodeModeError)) throw error;
  return error;
}

afterEach(() => codeMode.setMaxWorkers(undefined));

describe("Options: defaults", () => {
  const kib = 1024;
  const mib = 1024 * kib;

  test("maxResultBytes is 1 MiB", async () => {
    expect(await run(`return "x".repeat(${mib - 2})`)).toHaveLength(mib - 2);
    const { code } = await failureOf(run(`return "x".repeat(${mib - 1})`));
    expect(code).toBe("CODE_MODE_SERIALIZATION_ERROR");
  });

  test("maxSourceBytes is 256 KiB", async () => {
    const head = "return 1 //";
    expect(await run(head + "x".repeat(256 * kib - head.length))).toBe(1);
    const error = await failureOf(run(head + "x".repeat(256 * kib - head.length + 1)));
    expect(error).toBeInstanceOf(codeMode.CodeModeSourceTooLargeError);
    expect(error.details).toMatchObject({ bytes: 256 * kib + 1, maxBytes: 256 * kib });
  });

  test("maxToolInputBytes is 1 MiB", async () => {
    // {"a":"…"} has eight characters beside the text.
    expect(await run(`return (await tools.echo({ a: "x".repeat(${mib - 8}) })).a.length`)).toBe(mib - 8);
    const { message } = await failureOf(
      run(`return (await tools.echo({ a: "x".repeat(${mib - 7}) })).a.length`),
    );
    expect(message).toMatch(/1048577|1048576/u);
  });

  test("maxToolOutputBytes is 4 MiB", async () => {
    expect(await run(`return (await tools.gen({ size: ${4 * mib - 2} })).length`)).toBe(4 * mib - 2);
    const { code } = await failureOf(run(`return (await tools.gen({ size: ${4 * mib - 1} })).length`));
    expect(code).toBe("CODE_MODE_SERIALIZATION_ERROR");
  });

  test("maxBridgeRequests is 256", async () => {
    const calls = (count: number): string =>
      `for (let i = 0; i < ${count}; i++) await tools.echo({ i }); return "done"`;
    expect(await run(calls(256))).toBe("done");
    expect(await failureOf(run(calls(257)))).toBeInstanceOf(codeMode.CodeModeBridgeLimitError);
  });

  test("maxInFlightBridgeRequests is 32", async () => {
    let running = 0;
    let most = 0;
    const full = Promise.withResolvers<void>();
    const gated = tool({
      inputSchema: anything,
      execute: async () => {
        most = Math.max(most, ++running);
        if (running === 32) full.resolve();
        await full.promise;
        running--;
        return 1;
      },
    });
    const js = "return (await Promise.all(Array.from({ length: 100 }, () => tools.gated({})))).length";
    expect(await runCodeMode({ js, tools: { gated } })).toBe(100);
    expect(most).toBe(32);
  });

  test("memoryLimitBytes is 64 MiB", async () => {
    const hold = (megabytes: number): string =>
      `const kept = []; for (let i = 0; i < ${megabytes}; i++) kept.push(new Uint8Array(1024 * 1024).fill(1)); return kept.length`;
    expect(await run(hold(48))).toBe(48);
    expect(await failureOf(run(hold(80)))).toMatchObject({ code: "CODE_MODE_ERROR" });
  });

  test("timeoutMs is 30 seconds, and the stack is bounded", async () => {
    const error = new codeMode.CodeModeTimeoutError(30_000);
    expect(error.details).toEqual({ timeoutMs: 30_000 });
    expect(await run("const f = () => f(); try { f() } catch (e) { return e instanceof Error }")).toBe(true);
  });

  test("fetch is off, and approvals go to the callback", async () => {
    expect(await run("return typeof fetch")).toBe("undefined");
    const ask = tool({ inputSchema: anything, needsApproval: true, execute: async () => 1 });
    const asked = runCodeMode({ js: "return await tools.ask({})", tools: { ask } });
    expect(await failureOf(asked)).toBeInstanceOf(codeMode.CodeModeToolApprovalRequiredError);
  });

  test.each([
    "timeoutMs",
    "memoryLimitBytes",
    "maxStackSizeBytes",
    "maxResultBytes",
    "maxSourceBytes",
  ] as const)("%s must be a positive integer", async (name) => {
    for (const value of [0, -1, 0.5, Number.NaN, "5", null]) {
      const executionPolicy = { [name]: value } as never;
      await expect(run("return 1", { executionPolicy })).rejects.toThrow(
        new RegExp(`^Cannot use executionPolicy.${name}`, "u"),
      );
    }
  });
});

describe("Concurrency", () => {
  test("every invocation gets a fresh global scope, also after one that failed", async () => {
    await failureOf(run("globalThis.left = 1; Object.prototype.left = 1; throw new Error('x')"));
    expect(await run("return [typeof globalThis.left, typeof ({}).left]")).toEqual([
      "undefined",
      "undefined",
    ]);
  });

  test("a run that times out is ended for good, and the next one is not disturbed", async () => {
    const endless = run("for (;;) {}", { executionPolicy: { timeoutMs: 200 } });
    expect(await failureOf(endless)).toBeInstanceOf(codeMode.CodeModeTimeoutError);
    expect(await run("return 1")).toBe(1);
  });

  test("beyond setMaxWorkers invocations fail at once, and a place is taken until host work has ended", async () => {
    codeMode.setMaxWorkers(1);
    const gate = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const slow = tool({
      inputSchema: anything,
      execute: async () => {
        entered.resolve();
        // Does not look at its signal.
        await gate.promise;
      },
    });
    const first = runCodeMode({
      js: "return await tools.slow({})",
      tools: { slow },
      options: { executionPolicy: { timeoutMs: 200 } },
    });
    await entered.promise;
    const refused = await failureOf(run("return 1"));
    expect(refused).toBeInstanceOf(codeMode.CodeModeConcurrencyError);
    expect(refused.details).toEqual({ maxWorkers: 1 });
    expect(await failureOf(first)).toBeInstanceOf(codeMode.CodeModeTimeoutError);
    // The program is over, its tool is not.
    expect(await failureOf(run("return 1"))).toBeInstanceOf(codeMode.CodeModeConcurrencyError);
    // Without a number there is room again: admission follows the memory of the machine.
    codeMode.setMaxWorkers(undefined);
    expect(await Promise.all([run("return 1"), run("return 2")])).toEqual([1, 2]);
    codeMode.setMaxWorkers(1);
    gate.resolve();
    await expect.poll(async () => run("return 1").catch(() => "refused"), { timeout: 60_000 }).toBe(1);
  });

  test("a call that is not awaited fails the program, one still running is aborted too", async () => {
    expect(await failureOf(run("tools.echo({}); return 1"))).toBeInstanceOf(
      codeMode.CodeModeDetachedBridgeRequestError,
    );
    const begun = Promise.withResolvers<unknown>();
    const stopped = Promise.withResolvers<unknown>();
    const slow = tool({
      inputSchema: anything,
      execute: async (_input, { abortSignal }) => {
        begun.resolve(1);
        return new Promise((_resolve, reject) =>
          abortSignal?.addEventListener("abort", () => {
            stopped.resolve(abortSignal.aborted);
            reject(new Error("stopped"));
          }),
        );
      },
    });
    const quick = tool({ inputSchema: anything, execute: async () => begun.promise });
    const js = "return await Promise.race([tools.quick({}), tools.slow({}).then(() => 0)])";
    const raced = runCodeMode({ js, tools: { quick, slow } });
    expect(await failureOf(raced)).toBeInstanceOf(codeMode.CodeModeDetachedBridgeRequestError);
    expect(await stopped.promise).toBe(true);
  });
});

describe("Tool Semantics", () => {
  test("inputs are validated against each tool's schema", async () => {
    const js = "return await tools.gen({ size: 'large' })";
    const error = await failureOf(run(js));
    expect(error).toBeInstanceOf(codeMode.CodeModeToolError);
    expect(error.message).toMatch(/Invalid input for tool "gen".*size/su);
  });

  test("execute receives what the outer call was given, with a signal and an id of its own", async () => {
    const seen: Record<string, unknown>[] = [];
    const look = tool({
      inputSchema: anything,
      execute: async (_input, options) => {
        seen.push({ ...options });
        return options.toolCallId;
      },
    });
    const messages = [{ role: "user" as const, content: "go" }];
    const controller = new AbortController();
    const toolExecutionOptions = {
      toolCallId: "outer",
      messages,
      abortSignal: controller.signal,
      experimental_context: { tenant: 1 },
    };
    const js = "return [await tools.look({}), await tools.look({})]";
    expect(await runCodeMode({ js, tools: { look }, toolExecutionOptions })).toEqual([
      "outer:tool-1",
      "outer:tool-2",
    ]);
    expect(seen[0]).toMatchObject({ messages, context: { tenant: 1 }, experimental_context: { tenant: 1 } });
    expect(seen[0]?.["abortSignal"]).toBeInstanceOf(AbortSignal);
  });

  test("an abort of the outer call reaches nested tools, and ends the invocation", async () => {
    const controller = new AbortController();
    const heard = Promise.withResolvers<boolean>();
    const wait = tool({
      inputSchema: anything,
      execute: async (_input, { abortSignal }) => {
        controller.abort();
        return new Promise((resolve) => {
          if (abortSignal?.aborted) heard.resolve(true);
          abortSignal?.addEventListener("abort", () => {
            heard.resolve(true);
            resolve(1);
          });
        });
      },
    });
    const toolExecutionOptions = { ...OUTER, abortSignal: controller.signal };
    const running = runCodeMode({ js: "return await tools.wait({})", tools: { wait }, toolExecutionOptions });
    expect(await failureOf(running)).toBeInstanceOf(codeMode.CodeModeAbortedError);
    expect(await heard.promise).toBe(true);
  });

  test("thrown errors are propagated: name and message to the program, all of it to the host", async () => {
    const js =
      "try { await tools.fail({}) } catch (e) { return { ...e, name: e.name, message: e.message, stack: e.stack } }";
    const seen = (await run(js)) as Record<string, string>;
    expect(seen).toMatchObject({
      name: "RangeError",
      message: "no such row",
      code: "CODE_MODE_HOST_TOOL_ERROR",
    });
    expect(JSON.stringify(seen)).not.toMatch(/the cause|select secret|contract-sentences|node_modules/u);
    const events: codeMode.CodeModeNestedToolResultEvent[] = [];
    const lifecycle = { onNestedToolResult: (event: (typeof events)[number]) => void events.push(event) };
    const error = await failureOf(run("return await tools.fail({})", { lifecycle }));
    expect(error.cause).toMatchObject({ query: "select secret", cause: "the cause" });
    expect(events[0]).toMatchObject({ status: "rejected", error: { query: "select secret", code: "E_ROW" } });
  });

  test("the last output of an async iterable counts; a missing execute or tool fails clearly", async () => {
    const stream = tool({
      inputSchema: anything,
      async *execute() {
        yield 1;
        yield 2;
      },
    });
    const bare = tool({ inputSchema: anything });
    const own = { stream, bare } as never;
    expect(await runCodeMode({ js: "return await tools.stream({})", tools: own })).toBe(2);
    const noExecute = await failureOf(runCodeMode({ js: "return await tools.bare({})", tools: own }));
    expect(noExecute).toMatchObject({
      name: "CodeModeToolError",
      message: expect.stringContaining("no execute") as string,
    });
    const unknown = await failureOf(runCodeMode({ js: "return await tools.strem({})", tools: own }));
    expect(unknown).toMatchObject({
      name: "CodeModeToolError",
      message: expect.stringContaining('"stream"') as string,
    });
  });
});

describe("Isolation And Security, TypeScript, Errors", () => {
  test.each([
    "eval('1')",
    "Function('return 1')()",
    "(() => {}).constructor('return 1')()",
    "import('node:fs')",
  ])("%s gives nothing", async (expression) => {
    expect(await failureOf(run(`return await ${expression}`))).toBeInstanceOf(codeMode.CodeModeError);
  });

  test.each(["process", "require", "module", "Deno", "Bun", "WebAssembly", "fetch", "global", "Buffer"])(
    "there is no %s",
    async (name) => {
      expect(await run(`return typeof ${name}`)).toBe("undefined");
    },
  );

  test("types are stripped, not checked", async () => {
    expect(
      await run("type A = { a: number }; const x: A = { a: 'text' } as any; return (x satisfies A).a"),
    ).toBe("text");
    expect(await failureOf(run("const x: = 1"))).toMatchObject({ name: "SyntaxError" });
  });

  test("what a program throws chooses no class, no code and no details", async () => {
    const js = `throw Object.assign(new Error("x"), { name: "CodeModeTimeoutError", code: "CODE_MODE_TOOL_APPROVAL_REQUIRED", details: { toolName: "danger" } })`;
    const error = await failureOf(run(js));
    expect(error.constructor).toBe(codeMode.CodeModeError);
    expect(error.name).toBe("Error");
    expect(error.code).toBe("CODE_MODE_ERROR");
    expect(JSON.stringify(error.details)).not.toContain("danger");
  });

  test("full diagnostics are in the trace", async () => {
    const traces: codeMode.CodeModeTrace[] = [];
    await failureOf(
      run("return await tools.fail({})", { lifecycle: { onTrace: (trace) => void traces.push(trace) } }),
    );
    expect(traces[0]?.bridgeRequests[0]?.error).toMatchObject({ name: "RangeError", code: "E_ROW" });
    expect(traces[0]?.bridgeRequests[0]?.error?.stack).toContain("contract-sentences");
    expect(traces[0]?.error).toMatchObject({ code: "CODE_MODE_HOST_TOOL_ERROR" });
  });
});
