/** Tools that the programs of the comparison call; made for each program, by the implementation that runs it. */
import { AsyncLocalStorage } from "node:async_hooks";
import { jsonSchema, type Tool, tool } from "ai";
import { z } from "zod";
import type { CodeMode } from "./outcome.ts";

export const storage: AsyncLocalStorage<string> = new AsyncLocalStorage();

type Execute = (input: Record<string, unknown>, options: Options) => unknown;

interface Options {
  readonly toolCallId: string;
  readonly messages?: unknown[];
  readonly abortSignal?: AbortSignal;
  readonly context?: unknown;
  readonly experimental_context?: unknown;
  readonly codeModeInterrupt?: { interruptId: string; payload: object; resolution: unknown };
}

function made(execute: Execute | undefined, more: object = {}): Tool {
  return tool({ inputSchema: jsonSchema({ type: "object" }), ...(execute && { execute }), ...more } as never);
}

export function toolsFor(mode: CodeMode, executed: unknown[]): object {
  const kept =
    (name: string, execute: Execute): Execute =>
    (input, options) => {
      executed.push([name, input]);
      return execute(input, options);
    };
  const asking: Execute = (input, { codeModeInterrupt }) =>
    codeModeInterrupt === undefined
      ? mode.requestCodeModeInterrupt({ kind: "connection-auth", id: input["id"] })
      : { token: codeModeInterrupt.resolution, asked: codeModeInterrupt.payload };
  return {
    echo: made(kept("echo", async (input) => input)),
    slow: made(kept("slow", async (input) => new Promise((resolve) => setTimeout(resolve, 30, input)))),
    // Until it is told to stop.
    never: made(
      async (_input, { abortSignal }) =>
        new Promise((_resolve, reject) => abortSignal?.addEventListener("abort", () => reject(new Error()))),
    ),
    sync: made(() => "at once"),
    nothing: made(async () => undefined),
    bigint: made(async () => 1n),
    date: made(async () => new Date(0)),
    gen: made(async ({ size }) => "x".repeat(Number(size))),
    fail: made(async () => Promise.reject(Object.assign(new RangeError("boom"), { code: "E_OWN" }))),
    failOdd: made(async () => Promise.reject(new Error("odd", { cause: "secret" }))),
    throwText: made(async () => {
      // oxlint-disable-next-line typescript/only-throw-error
      throw "only text";
    }),
    noExecute: made(undefined),
    typed: tool({
      inputSchema: z.object({ path: z.string().trim(), count: z.number().default(3) }),
      execute: kept("typed", async (input) => input),
    }),
    strict: made(
      kept("strict", async (input) => input),
      {
        inputSchema: jsonSchema({ type: "object", properties: { a: { type: "number" } }, required: ["a"] }),
      },
    ),
    stream: made(async function* () {
      yield 1;
      yield { last: true };
    }),
    streamNothing: made(async function* () {}),
    streamFails: made(async function* () {
      yield 1;
      throw new Error("in the middle");
    }),
    options: made(async (_input, { toolCallId, messages, context, experimental_context, abortSignal }) => ({
      toolCallId,
      messages: messages ?? null,
      context: context ?? null,
      experimental: experimental_context ?? null,
      hasSignal: abortSignal instanceof AbortSignal,
    })),
    stored: made(async () => storage.getStore() ?? null),
    untilAborted: made(
      async (_input, { abortSignal }) =>
        new Promise((_resolve, reject) =>
          abortSignal?.addEventListener("abort", () => {
            executed.push("told to stop");
            reject(new Error("stopped"));
          }),
        ),
    ),
    shown: made(
      kept("shown", async (input) => input),
      {
        toModelOutput: ({ output }: { output: unknown }) => ({
          type: "text",
          value: `shown ${JSON.stringify(output)}`,
        }),
      },
    ),
    remove: made(
      kept("remove", async (input) => ({ removed: input["id"] })),
      { needsApproval: true },
    ),
    removeLarge: made(
      kept("removeLarge", async (input) => input),
      {
        needsApproval: ({ size }: { size: number }) => size > 10,
      },
    ),
    removeTyped: tool({
      inputSchema: z.object({ path: z.string().trim() }),
      needsApproval: true,
      execute: kept("removeTyped", async (input) => input) as never,
    } as never),
    connect: made(kept("connect", asking)),
  };
}
