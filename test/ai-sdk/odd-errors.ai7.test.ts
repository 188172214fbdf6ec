/** Tools that throw what can hardly be looked at: the program, its host and its traces get what there is to tell. */
import { tool } from "ai";
import { CodeModeError, CodeModeToolError, type CodeModeTrace, runCodeMode } from "codecell/ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";

function throwing(thrown: unknown) {
  return tool({
    inputSchema: z.object({}),
    execute: (): string => {
      throw thrown;
    },
  });
}

function unreadable(key: string): Error {
  return Object.defineProperty(new Error("No disk"), key, {
    get: () => {
      throw new Error("Not for you");
    },
  });
}

const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();

const ODD: [string, unknown][] = [
  ["null", null],
  ["undefined", undefined],
  ["a symbol", Symbol("odd")],
  ["a function", () => {}],
  ["a big integer", 10n],
  ["a revoked proxy", revoked],
  ["an error without a readable message", unreadable("message")],
  ["an error without a readable name", unreadable("name")],
  ["an error without a readable stack", unreadable("stack")],
  ["an error without a readable code", unreadable("code")],
  ["an error without readable details", unreadable("details")],
  ["a frozen error of code mode", Object.freeze(new CodeModeToolError("No disk"))],
];

describe.each(ODD)("a tool that throws %s", (_what, thrown) => {
  const tools = { odd: throwing(thrown) };

  test("fails its call, which the program may catch", async () => {
    const traces: CodeModeTrace[] = [];
    const lifecycle = { onTrace: (trace: CodeModeTrace) => void traces.push(trace) };
    const js = "try { await tools.odd({}) } catch (error) { return typeof error.message }";
    expect(await runCodeMode({ js, tools, options: { lifecycle } })).toBe("string");
    expect(traces).toMatchObject([{ status: "completed", bridgeRequests: [{ status: "rejected" }] }]);
  });

  test("fails the program with an error of code mode", async () => {
    const running = runCodeMode({ js: "await tools.odd({})", tools });
    await expect(running).rejects.toBeInstanceOf(CodeModeError);
  });
});
