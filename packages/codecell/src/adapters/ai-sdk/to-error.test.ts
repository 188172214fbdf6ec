import { expect, test } from "vitest";
import { toTraceError } from "./to-error.ts";

test("a trace keeps name, message, stack, code and details of an error as they are", () => {
  const error = Object.assign(new RangeError("no such user"), { code: "E_USER", details: { id: 1 } });
  const { message, stack, code, details } = error;
  expect(toTraceError(error)).toEqual({ name: "RangeError", message, stack, code, details });
});

test("a trace keeps the beginning of a long message, and all frames of the stack", () => {
  const error = new Error(`no such user: ${"$&x".repeat(300_000)}`);
  const frames = (error.stack ?? "").slice("Error: ".length + error.message.length);
  const { message, stack } = toTraceError(error);
  expect(frames).toContain("to-error.test");
  expect(message).toBe(error.message.slice(0, 4096));
  expect(stack).toBe(`Error: ${message}${frames}`);
  expect(toTraceError("y".repeat(10_000))).toEqual({ name: "Error", message: "y".repeat(4096) });
});

test("a trace keeps a copy of short details, the beginning of long ones, and none that are not JSON", () => {
  const input = "z".repeat(1_000_000);
  const long = toTraceError(Object.assign(new Error("no"), { details: { toolName: "t", input } }));
  expect(long.details).toBe(`${JSON.stringify({ toolName: "t", input }).slice(0, 4096)}…`);
  const details = { when: new Date(0), again: undefined };
  const short = toTraceError(Object.assign(new Error("no"), { details }));
  expect(short.details).toEqual({ when: "1970-01-01T00:00:00.000Z" });
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  expect(toTraceError(Object.assign(new Error("no"), { details: cyclic }))).not.toHaveProperty("details");
});
