import { expect, test, vi } from "vitest";
import type { AnyTool } from "../contract/tool.ts";
import { CallRefusal } from "./call-failure.ts";
import { callDirectly } from "./direct-call.ts";
import { type CallMiddleware, withOwnMiddleware } from "./middleware.ts";

const asking = new Error("nobody can be asked");
const echo: AnyTool = { execute: (input) => input };

function call(tool: AnyTool, middleware?: CallMiddleware): Promise<unknown> {
  return callDirectly({
    name: "echo",
    tool: middleware === undefined ? tool : withOwnMiddleware(tool, middleware),
    input: 1,
    callId: "c",
    signal: new AbortController().signal,
    context: "whose",
    asking,
  });
}

test("a tool without middleware is called with its input and what it is told of the call", async () => {
  const execute = vi.fn((input: unknown) => input);
  expect(await call({ execute })).toBe(1);
  expect(execute.mock.calls[0]).toMatchObject([1, { callId: "c", idempotencyKey: "c", context: "whose" }]);
});

test("middleware stands around the tool", async () => {
  expect(await call(echo, { execute: async (_, execute) => [await execute()] })).toEqual([1]);
});

test.each<[string, CallMiddleware["decide"], string]>([
  ["that denies", () => ({ deny: "no" }), "Cannot call the tool: no"],
  [
    "that throws",
    () => {
      throw new Error("pg://user:pw@db down");
    },
    "Cannot call the tool: it could not be authorised",
  ],
  [
    "that gives no decision",
    () => true as unknown as "allow",
    "Cannot call the tool: it could not be authorised",
  ],
  [
    "that rewrites, which only a run can validate",
    () => ({ rewrite: 2 }),
    "Cannot call the tool: it could not be authorised",
  ],
])("middleware %s keeps the tool from being called", async (_, decide, message) => {
  const execute = vi.fn();
  const refusal: unknown = await call({ execute }, { ...(decide && { decide }) }).catch(
    (error: unknown) => error,
  );
  expect(refusal).toBeInstanceOf(CallRefusal);
  expect(refusal).toMatchObject({ code: "denied", message });
  expect(execute).not.toHaveBeenCalled();
});

test("middleware that asks for a decision fails the call", async () => {
  const execute = vi.fn();
  await expect(call({ execute }, { decide: () => ({ suspend: "?" }) })).rejects.toBe(asking);
  expect(execute).not.toHaveBeenCalled();
});

test("a tool that asks for a decision fails, also if it catches what `suspend` throws", async () => {
  await expect(call({ execute: (_, { suspend }) => suspend("?") })).rejects.toBe(asking);
  const careless: AnyTool = {
    execute: (_, { suspend }) => {
      try {
        return suspend("?");
      } catch {
        return "done";
      }
    },
  };
  await expect(call(careless)).rejects.toBe(asking);
});
