import { describe, expect, test } from "vitest";
import { CODE_MODE_BOUNDS, type CodeModeSettings, resolveCodeMode } from "./config.ts";

/** The contract's defaults, and ours. */
const DEFAULTS: CodeModeSettings = {
  runtime: "quickjs-wasi",
  mode: "only",
  languages: ["javascript", "typescript"],
  timeoutMs: 10_000,
  memoryLimitBytes: 67_108_864,
  maxOutputBytes: 65_536,
  maxSnapshotBytes: 10_485_760,
  maxPendingToolCalls: 16,
  snapshotTtlSeconds: 900,
  searchDefaultLimit: 8,
  maxSearchLimit: 50,
  indexChars: CODE_MODE_BOUNDS.indexChars.default,
};

/** The contract's bounds. */
const CLAMPS: readonly (readonly [keyof CodeModeSettings, number, number])[] = [
  ["timeoutMs", 100, 60_000],
  ["memoryLimitBytes", 1_048_576, 1_073_741_824],
  ["maxOutputBytes", 1024, 10_485_760],
  ["maxSnapshotBytes", 1024, 268_435_456],
  ["maxPendingToolCalls", 1, 128],
  ["snapshotTtlSeconds", 1, 86_400],
  ["searchDefaultLimit", 1, 50],
  ["maxSearchLimit", 1, 50],
  ["indexChars", CODE_MODE_BOUNDS.indexChars.min, CODE_MODE_BOUNDS.indexChars.max],
];

function settingsOf(config: object): CodeModeSettings {
  const resolved = resolveCodeMode({ enabled: true, ...config });
  if (resolved.status !== "on") throw new TypeError(`Cannot test: it is ${resolved.status}`);
  return resolved.settings;
}

function problemOf(config: object): string {
  const resolved = resolveCodeMode({ enabled: true, ...config });
  return resolved.status === "invalid" ? resolved.problem : resolved.status;
}

describe("resolveCodeMode", () => {
  test.each([undefined, null, false, { enabled: false }, "true", 1, []])("is off: %o", (config) => {
    expect(resolveCodeMode(config)).toEqual({ status: "off" });
  });

  test("[exec-wait:2] settings alone do not turn it on, nor does a value that only looks like true", () => {
    const configs = [{ timeoutMs: 5000 }, { enabled: "yes" }, { enabled: 1 }, { enabled: "true" }];
    for (const config of configs) expect(resolveCodeMode(config)).toEqual({ status: "off" });
    // Settings are not judged while code mode is off.
    expect(resolveCodeMode({ runtime: "v8" })).toEqual({ status: "off" });
  });

  test("[exec-wait:3] true is the object that enables it", () => {
    expect(resolveCodeMode(true)).toEqual(resolveCodeMode({ enabled: true }));
    expect(resolveCodeMode(true)).toEqual({ status: "on", settings: DEFAULTS });
  });

  test("[exec-wait:6] every setting has its default", () => {
    expect(settingsOf({})).toEqual(DEFAULTS);
    expect(Object.isFrozen(settingsOf({})) && Object.isFrozen(settingsOf({}).languages)).toBe(true);
  });

  test.each(CLAMPS)("[exec-wait:6] %s is clamped to %d and %d", (name, min, max) => {
    expect(settingsOf({ [name]: min })[name]).toBe(min);
    expect(settingsOf({ [name]: max })[name]).toBe(max);
    expect(settingsOf({ [name]: max + 1 })[name]).toBe(max);
    expect(settingsOf({ [name]: Number.MAX_SAFE_INTEGER })[name]).toBe(max);
    // With a lower bound of 1, every smaller number is not a positive integer.
    if (min > 1) expect(settingsOf({ [name]: min - 1 })[name]).toBe(min);
    if (min > 1) expect(settingsOf({ [name]: 1 })[name]).toBe(min);
  });

  test.each(CLAMPS)("[exec-wait:6] %s is its default where it is not a positive integer", (name) => {
    for (const value of [0, -0, -1, 1.5, Number.NaN, Infinity, -Infinity, "500", null, true, {}, 5n]) {
      expect(settingsOf({ [name]: value })[name]).toBe(DEFAULTS[name]);
    }
  });

  test("[exec-wait:6] the default of a search is at most its maximum", () => {
    expect(settingsOf({ searchDefaultLimit: 100, maxSearchLimit: 20 }).searchDefaultLimit).toBe(20);
    expect(settingsOf({ maxSearchLimit: 5 }).searchDefaultLimit).toBe(5);
    expect(settingsOf({ maxSearchLimit: 500 }).maxSearchLimit).toBe(50);
  });

  // Tests of `exec` show the rest of exec-wait:4 and exec-wait:5.
  test("another runtime or mode is a problem, not a guess", () => {
    expect(problemOf({ runtime: "v8" })).toBe(
      'Cannot use code mode: runtime is "v8", the only runtime is "quickjs-wasi"',
    );
    expect(problemOf({ mode: "mixed" })).toContain('mode is "mixed", the only mode is "only"');
    expect(problemOf({ runtime: null })).toContain("runtime is object");
    expect(problemOf({ mode: "x".repeat(10_000) }).length).toBeLessThan(200);
    expect(settingsOf({ runtime: "quickjs-wasi", mode: "only" })).toEqual(DEFAULTS);
  });

  test("languages are chosen from the known ones", () => {
    expect(settingsOf({ languages: ["typescript"] }).languages).toEqual(["typescript"]);
    expect(settingsOf({ languages: ["typescript", "javascript", "typescript"] }).languages).toEqual(
      DEFAULTS.languages,
    );
    expect(settingsOf({ languages: [] }).languages).toEqual(DEFAULTS.languages);
    expect(problemOf({ languages: ["javascript", "python"] })).toContain('languages is "python", known are');
    expect(problemOf({ languages: "javascript" })).toContain("expected a list");
    expect(problemOf({ languages: [undefined] })).toContain("languages is undefined");
    expect(problemOf({ languages: null })).toContain("expected a list");
  });
});
