/** What no invocation could begin with is said when the tool is created. */
import { type CodeModeOptions, codeModeTool, createCodeModeTool } from "codecell/ai";
import { describe, expect, test } from "vitest";

describe.each([
  ["createCodeModeTool", (options: CodeModeOptions): unknown => createCodeModeTool({}, options)],
  ["codeModeTool", (options: CodeModeOptions): unknown => codeModeTool(options)],
])("%s", (_name, create) => {
  test.each<[string, CodeModeOptions, RegExp]>([
    ["a limit that is none", { executionPolicy: { timeoutMs: 0 } }, /executionPolicy\.timeoutMs/u],
    [
      "a prefix with a query",
      { fetchPolicy: { allowedUrlPrefixes: ["https://a.example/x?y"] } },
      /a\.example\/x\?y/u,
    ],
    ["an origin that is none", { fetchPolicy: { allowedOrigins: ["a.example"] } }, /a\.example/u],
  ])("refuses %s", (_what, options, message) => {
    expect(() => create(options)).toThrow(TypeError);
    expect(() => create(options)).toThrow(message);
  });

  test("takes a fetch policy, none, and its absence", () => {
    for (const fetchPolicy of [{ allowedOrigins: ["https://a.example"] }, false] as const) {
      expect(() => create({ fetchPolicy })).not.toThrow();
    }
    expect(() => create({})).not.toThrow();
  });
});
