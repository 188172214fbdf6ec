import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { toCallSetup } from "../../../../test/call-setup.ts";
import type { CallOutcome } from "../contract/ledger.ts";
import { resolveLimits } from "../contract/limits.ts";
import type { AnyTool } from "../contract/tool.ts";
import { invoke } from "./invoke.ts";
import type { Authorize } from "./middleware.ts";
import { CallRefusal } from "./call-failure.ts";

const progress = vi.fn<(output: unknown) => void>();
const outputBytes = vi.fn<(bytes: number) => void>();

function call(
  tools: Record<string, AnyTool>,
  tool: string,
  input: unknown,
  options: { authorize?: Authorize; signal?: AbortSignal; outputBytes?: number } = {},
): Promise<CallOutcome> {
  return invoke(
    toCallSetup({
      tools,
      tool,
      input: typeof input === "string" && input.startsWith("raw:") ? input.slice(4) : JSON.stringify(input),
      context: { context: "mine", ...(options.signal === undefined ? {} : { signal: options.signal }) },
      limits: resolveLimits(
        options.outputBytes === undefined ? {} : { callOutputBytes: options.outputBytes },
      ),
      middleware: options.authorize === undefined ? [] : [{ decide: options.authorize }],
      onProgress: progress,
      onOutput: outputBytes,
    }),
  );
}

const failedWith = (code: string, message: string | RegExp): object => ({
  kind: "failure",
  failure: { code, message: typeof message === "string" ? message : expect.stringMatching(message) },
});

function cyclic(): unknown[] {
  const list: unknown[] = [];
  list.push(list);
  return list;
}

describe("invoke", () => {
  test("gives the output as JSON text", async () => {
    const outcome = await call({ add: { execute: ({ a, b }) => ({ sum: a + b }) } }, "add", { a: 1, b: 2 });
    expect(outcome).toEqual({ kind: "output", call: 0, output: '{"sum":3}' });
    expect(outputBytes).toHaveBeenCalledExactlyOnceWith(9);
  });

  test("bounds the message of a refusal, whether a schema, a policy or a program wrote it", async () => {
    const said = "x".repeat(100_000);
    const issues = [{ message: said, path: [said] }];
    const schema = { "~standard": { version: 1, vendor: "own", validate: () => ({ issues }) } } as const;
    const t: AnyTool = { execute: () => 1 };
    const outcomes = await Promise.all([
      call({ t: { ...t, input: schema } }, "t", {}),
      call({ t: { ...t, output: schema } }, "t", {}),
      call({ t }, "t", {}, { authorize: () => ({ deny: said }) }),
      call({ t }, said, {}),
      invoke(toCallSetup({ tools: { t }, denial: said })),
    ]);
    const messages = outcomes.map((outcome) => (outcome.kind === "failure" ? outcome.failure.message : ""));
    expect(messages.map((message) => message.length > 100 && message.length <= 4096)).toEqual(
      outcomes.map(() => true),
    );
  });

  test("an output of undefined is null", async () => {
    expect(await call({ t: { execute: () => undefined } }, "t", {})).toMatchObject({ output: "null" });
  });

  test("an unknown tool is answered with the closest names", async () => {
    const outcome = await call({ search: { execute: () => 1 } }, "serach", {});
    expect(outcome).toMatchObject(
      failedWith("unknown_tool", 'Cannot call tool "serach": no such tool, closest is "search"'),
    );
  });

  test.each(["constructor", "__proto__", "hasOwnProperty", "toString", ""])(
    "%j is not a tool, whatever is on prototypes",
    async (name) => {
      expect(await call({ search: { execute: () => 1 } }, name, {})).toMatchObject(
        failedWith("unknown_tool", /./),
      );
    },
  );

  test("a wrong input never reaches the tool", async () => {
    const execute = vi.fn<() => number>(() => 1);
    const outcome = await call({ t: { input: z.object({ a: z.number() }), execute } }, "t", { a: "x" });
    expect(outcome).toMatchObject(failedWith("invalid_input", /^Cannot call tool "t": input\.a: /));
    expect(execute).not.toHaveBeenCalled();
  });

  test("input that is not JSON never reaches the tool", async () => {
    const execute = vi.fn<() => number>(() => 1);
    expect(await call({ t: { execute } }, "t", "raw:{bad")).toMatchObject(
      failedWith("invalid_input", /not JSON/),
    );
    expect(execute).not.toHaveBeenCalled();
  });

  test("the policy sees what is executed: the validated input", async () => {
    const seen: unknown[] = [];
    const tool: AnyTool = {
      input: z.object({ path: z.string().trim() }),
      execute: (input) => {
        seen.push(input);
        return null;
      },
    };
    await call(
      { rm: tool },
      "rm",
      { path: " /tmp/a ", hidden: true },
      {
        authorize: ({ input, context }) => {
          seen.push(input, context);
          return "allow";
        },
      },
    );
    expect(seen).toEqual([{ path: "/tmp/a" }, "mine", { path: "/tmp/a" }]);
  });

  test("a denied call is not executed", async () => {
    const execute = vi.fn<() => number>(() => 1);
    const outcome = await call(
      { rm: { execute } },
      "rm",
      {},
      { authorize: async () => ({ deny: "not on Fridays" }) },
    );
    expect(outcome).toMatchObject(failedWith("denied", 'Cannot call tool "rm": not on Fridays'));
    expect(execute).not.toHaveBeenCalled();
  });

  test("a policy that throws refuses the call", async () => {
    const execute = vi.fn<() => number>(() => 1);
    const outcome = await call(
      { rm: { execute } },
      "rm",
      {},
      {
        authorize: () => {
          throw new Error("no policy");
        },
      },
    );
    expect(outcome).toMatchObject(failedWith("denied", 'Cannot call tool "rm": it could not be authorised'));
    expect(execute).not.toHaveBeenCalled();
  });

  test("only the name, message and code of a tool's error reach the program", async () => {
    const error = Object.assign(new TypeError("nope", { cause: "secret" }), {
      code: "E42",
      secret: "S3CRET",
    });
    const outcome = await call(
      {
        t: {
          execute: () => {
            throw error;
          },
        },
      },
      "t",
      {},
    );
    expect(outcome).toEqual({
      kind: "failure",
      call: 0,
      failure: { code: "tool_failed", name: "TypeError", message: "nope", toolCode: "E42" },
    });
  });

  test.each([
    ["null", null],
    ["undefined", undefined],
    ["a symbol", Symbol("s")],
    [
      "an object whose getters throw",
      {
        get message(): string {
          throw new Error("x");
        },
      },
    ],
    ["a huge message", new Error("x".repeat(1e6))],
  ])("a tool that throws %s gives a bounded failure", async (_name, thrown) => {
    const outcome = await call(
      {
        t: {
          execute: () => {
            throw thrown;
          },
        },
      },
      "t",
      {},
    );
    expect(outcome).toMatchObject(failedWith("tool_failed", /^.{1,4096}$/s));
  });

  test("every value of an async iterable is progress, the last one is the output", async () => {
    progress.mockClear();
    const outcome = await call(
      {
        async: {
          async *execute() {
            yield 1;
            yield 2;
            yield 3;
          },
        },
      },
      "async",
      {},
    );
    expect(outcome).toMatchObject({ output: "3" });
    expect(progress.mock.calls).toEqual([[1], [2], [3]]);
  });

  test("an aborted run stops an async iterable", async () => {
    const abort = new AbortController();
    const returned = vi.fn<() => void>();
    await call(
      {
        endless: {
          async *execute() {
            try {
              for (let i = 0; ; i++) {
                if (i === 3) abort.abort();
                yield i;
              }
            } finally {
              returned();
            }
          },
        },
      },
      "endless",
      {},
      { signal: abort.signal },
    );
    expect(returned).toHaveBeenCalledOnce();
  });

  test.each([
    ["a BigInt", 1n],
    ["a function", () => 1],
    ["a cycle", cyclic()],
  ])("an output of %s is refused", async (_name, output) => {
    expect(await call({ t: { execute: () => output } }, "t", {})).toMatchObject(
      failedWith("invalid_output", /not JSON/),
    );
  });

  test("an output that does not match its schema is refused", async () => {
    const outcome = await call(
      { t: { output: z.object({ a: z.number() }), execute: () => ({ a: "x" }) } },
      "t",
      {},
    );
    expect(outcome).toMatchObject(failedWith("invalid_output", /output\.a: /));
  });

  test("an output over the limit is refused, not cut", async () => {
    const outcome = await call({ t: { execute: () => "ä".repeat(600) } }, "t", {}, { outputBytes: 1000 });
    expect(outcome).toMatchObject(failedWith("output_limit", /1202 bytes, at most 1000/));
  });

  test("suspend ends the execution with its payload", async () => {
    const outcome = await call({ t: { execute: (_input, { suspend }) => suspend({ ask: "me" }) } }, "t", {});
    expect(outcome).toEqual({ kind: "asked", call: 0, payload: { ask: "me" } });
  });

  test("an error that only looks like a suspension is an error", async () => {
    const outcome = await call(
      {
        t: {
          execute: () => {
            throw { payload: { ask: "me" } };
          },
        },
      },
      "t",
      {},
    );
    expect(outcome.kind).toBe("failure");
  });
});

test("a printed refusal does not show its cause [host:errors]", () => {
  const cause = { config: { authorization: "Bearer pw@db" } };
  const refusal = new CallRefusal("denied", "No", cause);
  expect(refusal.cause).toBe(cause);
  expect(JSON.stringify(refusal)).toBe('{"code":"denied","message":"No"}');
});
