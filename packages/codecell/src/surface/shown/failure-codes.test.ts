import { describe, expect, test } from "vitest";
import { FAILURE_CODES, type Failure, type FailureCode } from "../../contract/failure.ts";
import { CODE_MODE_ERROR_CODES } from "./code-mode-result.ts";
import { type FailedProgram, toModelError, toErrorCode } from "./failure-codes.ts";

const agentProgram: FailedProgram = { language: "javascript", source: "return x", calls: 0 };
const errorOf = (failure: Failure, more: Partial<FailedProgram> = {}): string =>
  toModelError(failure, { ...agentProgram, ...more }).error;

describe("failure codes", () => {
  test("every code of a run has a code of exec and wait [exec-wait:90]", () => {
    for (const code of Object.keys(FAILURE_CODES) as FailureCode[]) {
      for (const language of ["javascript", "typescript"] as const) {
        expect(Object.keys(CODE_MODE_ERROR_CODES)).toContain(toErrorCode(code, language));
      }
    }
  });

  test.each([
    ["syntax_error", "invalid_input"],
    ["module_denied", "module_access_denied"],
    ["check_failed", "invalid_input"],
    ["guest_error", "internal_error"],
    ["tool_failed", "nested_tool_failed"],
    ["timeout", "timeout"],
    ["memory_limit", "memory_limit_exceeded"],
    ["result_limit", "output_limit_exceeded"],
    ["call_limit", "too_many_pending_tool_calls"],
    ["unavailable", "runtime_unavailable"],
    ["token_expired", "snapshot_expired"],
    ["token_invalid", "snapshot_restore_failed"],
    ["suspension_limit", "snapshot_limit_exceeded"],
    ["run_unknown", "invalid_input"],
  ] as const)("%s is %s [exec-wait:34] [exec-wait:54]", (code, expected) => {
    expect(toModelError({ code, message: "m" }, agentProgram)).toEqual({ code: expected, error: "m" });
  });

  test("broken TypeScript has a code of its own [exec-wait:32]", () => {
    const failure: Failure = {
      code: "syntax_error",
      message: "Unexpected token",
      position: { line: 3, column: 5 },
    };
    expect(toModelError(failure, { ...agentProgram, language: "typescript" })).toEqual({
      code: "typescript_transform_failed",
      error: "Unexpected token (line 3, column 5)",
    });
  });

  test("the position is named once [exec-wait:33]", () => {
    const position = { line: 3, column: 5 };
    const message = "TypeError: not a function (line 3, column 5)";
    expect(errorOf({ code: "guest_error", message, position })).toBe(message);
  });

  test("names the tool by its id [exec-wait:54]", () => {
    const message = 'Tool "boom" failed and the program did not catch it: nope';
    const failure: Failure = { code: "tool_failed", message, details: { tool: "boom" } };
    expect(errorOf(failure, { toolId: "core:core:boom" })).toBe(`${message} [tool core:core:boom]`);
    expect(errorOf(failure)).toBe(message);
  });

  test("is one bounded line without stacks and places of the host [exec-wait:90]", () => {
    const message = [
      "Error: nope",
      "    at run (/srv/app/secret/x.js:10:5)",
      "    at file:///srv/app/y.js:1:2",
      "    at async node:internal/process/task_queues:95:5",
      "\tat C:\\app\\z.js:3:4",
      "see /srv/app/x.js:10:5 and file:///srv/a.ts, at 10:30 try http://example.com:80 again\u2028now",
    ].join("\n");
    expect(errorOf({ code: "guest_error", message })).toBe(
      "Error: nope see <place> and <place> at 10:30 try http://example.com:80 again now",
    );
    const advice = [
      { code: "type", message: "a".repeat(5000) } as const,
      { code: "type", message: "Did you mean x?" } as const,
    ];
    const long = errorOf({ code: "guest_error", message: "😀".repeat(5000), advice });
    expect(long.length).toBeLessThanOrEqual(2000);
    expect(long.isWellFormed()).toBe(true);
    expect(long).toMatch(/…; Did you mean x\?$/u);
    expect(errorOf({ code: "internal", message: "\n" })).toBe("The program failed");
  });

  test("words of the guest do not choose the code [exec-wait:91]", () => {
    for (const message of ["interrupted", "timeout", "InternalError: out of memory"]) {
      expect(toModelError({ code: "guest_error", message }, agentProgram).code).toBe("internal_error");
    }
  });

  test("a shell command is answered with a hint, unless the program called something [exec-wait:38]", () => {
    const syntax: Failure = { code: "syntax_error", message: "Missing semicolon" };
    const reference: Failure = {
      code: "guest_error",
      message: "ReferenceError: ls is not defined",
      error: { name: "ReferenceError", message: "ls is not defined" },
    };
    for (const failure of [syntax, reference]) {
      expect(errorOf(failure, { source: "ls -la" })).toContain("await tools.search(");
      expect(toModelError(failure, { ...agentProgram, language: "typescript", source: "ls -la" }).code).toBe(
        "invalid_input",
      );
      expect(errorOf(failure, { source: "ls -la", calls: 1 })).not.toContain("tools.search");
      expect(errorOf(failure, { source: "read; return 1" })).not.toContain("tools.search");
    }
    expect(errorOf({ code: "timeout", message: "m" }, { source: "ls -la" })).toBe("m");
  });
});
