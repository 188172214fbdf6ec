/** Every error code can be reached. Its message tells a model what to do, and nothing about the host. */
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Host } from "codecell";
import {
  CODE_MODE_ERROR_CODES,
  type CodeModeErrorCode,
  type CodeModeFailed,
  createAgentRuntime,
} from "codecell/surface";
import { CONTEXT, type DeskOptions, openDesk, until } from "./fixtures.ts";
import { killUntil } from "./killing.ts";
import { failedOf, valueOf, waitingOf } from "./results.ts";

const MiB = 1024 * 1024;

const on = (more: Record<string, unknown>): DeskOptions => ({ config: { enabled: true, ...more } });

type Route = () => Promise<CodeModeFailed>;

/** A program that fails by itself. */
const running =
  (code: string, options: DeskOptions = {}, language = "javascript"): Route =>
  async () => {
    await using desk = openDesk(options);
    return failedOf(await desk.exec(code, language));
  };

const unavailable: Route = async () => {
  await using desk = openDesk();
  return failedOf(await killUntil(desk.exec("for (;;);")));
};

const expired: Route = async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  await using desk = openDesk(on({ snapshotTtlSeconds: 1 }));
  const { runId } = await waitingOf(desk.exec("await yield_control(); return 1"));
  vi.advanceTimersByTime(1001);
  vi.useRealTimers();
  return failedOf(await desk.wait(runId));
};

const aborted: Route = async () => {
  const abort = new AbortController();
  await using desk = openDesk();
  const result = desk.run.exec({ code: "return tools.gate({})" }, { abortSignal: abort.signal });
  await until(() => desk.gate.open === 1);
  abort.abort(new Error("line one\n    at place (/home/someone/secret.ts:1:2)"));
  return failedOf(await result);
};

/** The store of the suspended program gives back something else. */
const notRestored: Route = async () => {
  await using desk = openDesk();
  const host: Host = {
    isDurable: false,
    limits: {},
    start: (options) => desk.host.start(options),
    resume: (options) =>
      desk.host.resume({ ...options, token: `${options.token?.slice(0, -40)}${"A".repeat(40)}` }),
    discard: (options) => desk.host.discard(options),
    readEnded: (options) => desk.host.readEnded(options),
    deleteEnded: (options) => desk.host.deleteEnded(options),
    replay: (ledger) => desk.host.replay(ledger),
    fork: (ledger, options) => desk.host.fork(ledger, options),
    [Symbol.asyncDispose]: async () => {},
  };
  await using runtime = createAgentRuntime({ host });
  const run = runtime.prepareAgentRun({ config: true, tools: desk.tools, context: CONTEXT });
  const { runId } = await waitingOf(run.exec({ code: "await yield_control(); return 1" }));
  const failed = await failedOf(await run.wait({ runId }));
  // Nothing of the program is left, and a later wait says so.
  expect(runtime.suspendedPrograms).toBe(0);
  expect((await failedOf(run.wait({ runId }))).error).toContain("has ended");
  expect(run.telemetry().snapshots).toEqual({ created: 1, restored: 0, expired: 0, dropped: 1 });
  return failed;
};

const ROUTES: Readonly<Record<CodeModeErrorCode, readonly Route[]>> = {
  runtime_unavailable: [unavailable],
  invalid_config: [
    running("return 1", on({ runtime: "v8\n\u2028/etc/passwd" })),
    running("return 1", on({ mode: "mixed" })),
  ],
  invalid_input: [
    running(" "),
    running("return ("),
    running("ls -la\ncat /etc/passwd"),
    async () => {
      await using desk = openDesk();
      return failedOf(await desk.wait("no\nsuch\u2028id"));
    },
    async () => {
      await using desk = openDesk();
      return failedOf(await desk.run.wait({ runId: 5 }));
    },
  ],
  unsupported_language: [
    running("return 1", {}, "py\nthon\u2028"),
    running("return 1", on({ languages: ["typescript"] })),
  ],
  typescript_transform_failed: [running("const x: = 1;\nreturn x", {}, "typescript")],
  module_access_denied: [running('import fs from "fs"; return fs'), running('return require("fs")')],
  timeout: [running("for (;;);", on({ timeoutMs: 300 }))],
  memory_limit_exceeded: [
    running("const a = []; for (;;) a.push(new Uint8Array(1 << 20))", on({ memoryLimitBytes: 8 * MiB })),
  ],
  output_limit_exceeded: [running(`return "x".repeat(${5 * MiB})`)],
  snapshot_limit_exceeded: [
    running(
      `const kept = await tools.big({ n: 500_000 }); await yield_control(); return kept.length`,
      on({ maxSnapshotBytes: 4096 }),
    ),
  ],
  snapshot_expired: [expired],
  snapshot_restore_failed: [notRestored],
  too_many_pending_tool_calls: [
    running("await Promise.all(Array.from({ length: 2000 }, () => tools.echo(1)))"),
  ],
  nested_tool_failed: [
    running("await tools.boom({})"),
    running("tools.boom({}); return 1"),
    running("await tools.call('nope')"),
  ],
  aborted: [aborted],
  internal_error: [
    running("throw new Error('mine\\n    at somewhere (/home/someone/secret.ts:1:2)')"),
    running("throw new Error('x'.repeat(1e6))"),
    running("throw new Error('')"),
    running("throw undefined"),
    running("throw { get message() { throw 1 } }"),
    running("throw Symbol('a\\u2028b')"),
    running("await new Promise(() => {})"),
  ],
};

afterEach(() => {
  vi.useRealTimers();
});

describe("error codes", () => {
  const cases = Object.entries(ROUTES).flatMap(([code, routes]) =>
    routes.map((route, index) => [code, index, route] as const),
  );

  test.each(cases)("%s is reached, and says one line [exec-wait:90] (%d)", async (code, _index, route) => {
    const failed = await route();
    expect(failed.code).toBe(code);
    const { error } = failed;
    expect(error.trim()).not.toBe("");
    expect(error.length).toBeLessThanOrEqual(2000);
    expect(error).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
    // No stack, no path, no secret.
    expect(error).not.toMatch(
      /\bat \S+ \(|node:|file:|worker_threads|node_modules|secret\.ts|S3CRET|\/work\//u,
    );
    expect(failed.telemetry.failures).toMatchObject({ [code]: 1 });
    expect(failed).not.toHaveProperty("runId");
  });

  test("every code has a route [exec-wait:90]", () => {
    expect(Object.keys(ROUTES).toSorted()).toEqual(Object.keys(CODE_MODE_ERROR_CODES).toSorted());
    expect(Object.values(ROUTES).every((routes) => routes.length > 0)).toBe(true);
  });

  test.each([
    "interrupted",
    "timeout",
    "The run took longer than 10000 ms",
    "out of memory",
    "aborted",
    "InternalError: interrupted",
    "stack overflow",
    "memory_limit",
  ])("an error of a program that says %s does not choose the code [exec-wait:91]", async (message) => {
    await using desk = openDesk();
    const text = JSON.stringify(message);
    const programs = [
      `throw new Error(${text})`,
      `throw Object.assign(new Error(${text}), { code: "timeout", name: "InternalError" })`,
      `throw { name: "InternalError", message: ${text}, code: "timeout" }`,
      `throw ${text}`,
      `await Promise.reject(new RangeError(${text}))`,
      `Promise.reject(new Error(${text})); return 1`,
      `class InternalError extends Error {} throw new InternalError(${text})`,
    ];
    for (const code of programs) {
      const failed = await failedOf(desk.exec(code));
      expect([code, failed.code]).toEqual([code, "internal_error"]);
      expect(failed.error).toContain(message);
    }
    expect(desk.run.telemetry().failures).toEqual({ internal_error: programs.length });
  });

  test("an error of a tool that says timeout is the tool's error [exec-wait:91]", async () => {
    const execute = (): never => {
      throw Object.assign(new Error("timeout"), { code: "timeout", name: "TimeoutError" });
    };
    await using desk = openDesk({ tools: { core: { late: { execute } } } });
    expect((await failedOf(desk.exec("return tools.late({})"))).code).toBe("nested_tool_failed");
    expect(await valueOf(desk.exec("try { await tools.late({}) } catch (e) { return e.message }"))).toBe(
      "timeout",
    );
  });
});
