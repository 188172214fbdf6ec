import { expect, test } from "vitest";
import { CodecellError } from "./failure.ts";
import { type RunResult, unwrap } from "./result.ts";

const common = {
  runId: "r",
  logs: [],
  logsDropped: 0,
  stats: { wallTimeMs: 1, cpuTimeMs: 1, calls: 0, rebuilds: 0 },
} as const;

test("unwrap gives the value of a completed run", () => {
  expect(unwrap({ ...common, status: "completed", value: [1] })).toEqual([1]);
});

test("unwrap throws the failure of a failed run", () => {
  const failure = { code: "deadlock", message: "The program waits" } as const;
  const failed: RunResult = { ...common, status: "failed", failure };
  expect(() => unwrap(failed)).toThrow(new CodecellError(failure));
  try {
    unwrap(failed);
  } catch (error) {
    expect(CodecellError.is(error) && [error.code, error.failure]).toEqual(["deadlock", failure]);
  }
});

test("unwrap throws for a suspended run", () => {
  const suspension = { token: "t", expiresAt: 0, pending: [], yielded: [] };
  expect(() => unwrap({ ...common, status: "suspended", suspension })).toThrow("resume it first");
});

test("CodecellError.is refuses other errors and values", () => {
  expect(CodecellError.is(new Error("x"))).toBe(false);
  expect(CodecellError.is(null)).toBe(false);
});
