import { expect, test, vi } from "vitest";
import { z } from "zod";
import type { AnyTool } from "../contract/tool.ts";
import { CallRefusal } from "./call-failure.ts";
import { callDirectly } from "./direct-call.ts";
import { type CallMiddleware, withOwnMiddleware } from "./middleware.ts";

const asking = new Error("nobody can be asked");
const echo: AnyTool = { execute: (input) => input };

function call(
  tool: AnyTool,
  middleware?: CallMiddleware,
  given: Partial<Parameters<typeof callDirectly>[0]> = {},
): Promise<unknown> {
  return callDirectly({
    name: "echo",
    tool: middleware === undefined ? tool : withOwnMiddleware(tool, middleware),
    input: 1,
    callId: "c",
    signal: new AbortController().signal,
    context: "whose",
    asking,
    judgeApart: () => Promise.resolve({ kind: "unavailable" }),
    onFault: () => {},
    ...given,
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

test("of an output in parts the last part counts, within middleware too", async () => {
  const parts: AnyTool = {
    execute: async function* () {
      yield 1;
      yield 2;
    },
  };
  expect(await call(parts)).toBe(2);
  expect(await call(parts, { execute: async (_, execute) => [await execute()] })).toEqual([2]);
});

test("a tool whose parts ask for a decision fails", async () => {
  const parts: AnyTool = {
    execute: async function* (_, { suspend }) {
      yield 1;
      suspend("?");
    },
  };
  await expect(call(parts)).rejects.toBe(asking);
});

test("a tool is not called after it asked, nor when the call was aborted", async () => {
  const execute = vi.fn();
  const twice: CallMiddleware = {
    execute: async ({ suspend }, again) => {
      try {
        return suspend("?");
      } catch {
        return again();
      }
    },
  };
  await expect(call({ execute }, twice)).rejects.toBe(asking);
  const aborting = new AbortController();
  const decide = (): "allow" => {
    aborting.abort();
    return "allow";
  };
  const refused = { code: "denied", message: "Cannot call the tool: the call was aborted" };
  await expect(call({ execute }, { decide }, { signal: aborting.signal })).rejects.toMatchObject(refused);
  expect(execute).not.toHaveBeenCalled();
});

test("a tool cannot ask for a decision once its call has ended", async () => {
  let late: (() => void) | undefined;
  const tool: AnyTool = {
    execute: (_, { suspend }) => {
      late = () => suspend("?");
      return 1;
    },
  };
  expect(await call(tool)).toBe(1);
  expect(late).toThrow("the call has ended");
});

test.each<[string, AnyTool["output"], unknown, object]>([
  ["does not fit its schema", { type: "string" }, 1, { code: "invalid_output" }],
  ["is not JSON", undefined, 1n, { code: "invalid_output" }],
  ["is too large", undefined, "x".repeat(5_000_000), { code: "output_limit" }],
])("an output that %s is refused", async (_, output, given, refusal) => {
  const tool: AnyTool = { ...(output === undefined ? {} : { output }), execute: () => given };
  await expect(call(tool)).rejects.toMatchObject(refusal);
});

test("a tool that has the name under which fetches are recorded is named as a tool", async () => {
  const refused = call({ execute: () => 1n }, undefined, { name: "globalThis.fetch" });
  await expect(refused).rejects.toThrow('Tool "globalThis.fetch" gave an output that is not JSON');
});

test("an output is given as its schema made it, and a schema that fails is told to the host alone", async () => {
  const made = z.string().transform(Number);
  expect(await call({ output: made, execute: () => "5" })).toBe(5);
  const fault = new Error("pg://user:pw@db down");
  const onFault = vi.fn();
  const failing = z.string().refine(() => {
    throw fault;
  });
  const refusal: unknown = await call({ output: failing, execute: () => "5" }, undefined, { onFault }).catch(
    (error: unknown) => error,
  );
  expect(refusal).toMatchObject({ code: "invalid_output" });
  expect((refusal as CallRefusal).message).not.toContain("pw@db");
  expect(onFault.mock.calls).toEqual([[fault]]);
});
