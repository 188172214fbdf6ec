/** Tests of middleware, which stands between a call and its tool. */
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { toCallSetup } from "../../../../test/call-setup.ts";
import type { CallOutcome } from "../contract/ledger.ts";
import type { AnyTool, CallContext } from "../contract/tool.ts";
import { CallRefusal } from "./call-failure.ts";
import { invoke } from "./invoke.ts";
import { type AdapterMiddleware, type CallMiddleware, KeptInput, VALIDATE } from "./middleware.ts";

const told = vi.fn<(error: unknown, source: string) => void>();
const progress = vi.fn<(part: unknown) => void>();

function call(
  tool: AnyTool,
  middleware: readonly AdapterMiddleware[],
  { input = { a: " x " }, ...more }: { input?: unknown; name?: string; denial?: string } = {},
): Promise<CallOutcome> {
  return invoke(
    toCallSetup({
      tools: { t: tool },
      tool: more.name ?? "t",
      input: JSON.stringify(input),
      context: { context: "mine" },
      middleware,
      denial: more.denial,
      onProgress: progress,
      onError: told,
    }),
  );
}

const trimming: AnyTool = {
  input: z.object({ a: z.string().trim().max(3) }),
  execute: ({ a }: { a: string }) => a,
};

const rewriting = (input: unknown): CallMiddleware => ({ decide: () => ({ rewrite: input }) });

describe("an input that middleware rewrote", () => {
  test("is validated again, and later middleware and the tool get it", async () => {
    const seen: unknown[] = [];
    const outcome = await call(trimming, [
      { decide: ({ input }) => (seen.push(input), "allow") },
      rewriting({ a: "  y" }),
      { decide: ({ input }) => (seen.push(input), "allow") },
    ]);
    expect(seen).toEqual([{ a: "x" }, { a: "y" }]);
    expect(outcome).toEqual({ kind: "output", call: 0, output: '"y"' });
  });

  test("never reaches the tool if it does not fit the schema", async () => {
    const execute = vi.fn<() => number>(() => 1);
    const later = vi.fn<() => "allow">(() => "allow");
    const outcome = await call({ ...trimming, execute }, [rewriting({ a: "long" }), { decide: later }]);
    expect(outcome).toMatchObject({
      failure: { code: "denied", message: expect.stringMatching(/another input/) },
    });
    expect(execute).not.toHaveBeenCalled();
    expect(later).not.toHaveBeenCalled();
  });
});

test("an input that was kept is not validated again", async () => {
  let made = 0;
  const tool: AnyTool = {
    input: z.object({ id: z.string().default(() => `id${++made}`) }),
    execute: ({ id }: { id: string }) => id,
  };
  const keeping: CallMiddleware = { decide: ({ input }) => new KeptInput(input) };
  expect(await call(tool, [keeping], { input: {} })).toMatchObject({ output: '"id1"' });
});

describe("middleware around validation", () => {
  const execute = vi.fn<(input: unknown) => unknown>((input) => input);
  const tool: AnyTool = { ...trimming, execute };

  test("gets the input as it was given, and decisions see what the schema made of it", async () => {
    const seen: unknown[] = [];
    const around: AdapterMiddleware = {
      [VALIDATE]: (given, validate) => (seen.push(given.input), validate(given.input)),
      decide: ({ input }) => (seen.push(input), "allow"),
    };
    expect(await call(tool, [around])).toMatchObject({ output: '{"a":"x"}' });
    expect(seen).toEqual([{ a: " x " }, { a: "x" }]);
  });

  test("may have another input validated, and is nested in the order given", async () => {
    const adding = (text: string): AdapterMiddleware => ({
      [VALIDATE]: ({ input }, validate) => validate({ a: `${(input as { a: string }).a.trim()}${text}` }),
    });
    expect(await call(tool, [adding("1"), adding("2")])).toMatchObject({ output: '{"a":"x12"}' });
  });

  test("hears what is wrong with an input, and the program is told", async () => {
    const heard: unknown[] = [];
    const around: AdapterMiddleware = {
      [VALIDATE]: async ({ input }, validate) => {
        const checked = await validate(input);
        heard.push(checked);
        return checked;
      },
    };
    expect(await call(tool, [around], { input: { a: 1 } })).toMatchObject({
      failure: { code: "invalid_input", message: expect.stringContaining("input.a") },
    });
    expect(heard).toMatchObject([{ ok: false }]);
  });

  test("cannot let a tool have an input that no schema has seen", async () => {
    execute.mockClear();
    const around: AdapterMiddleware = { [VALIDATE]: async () => ({ ok: true, value: { a: 1 } }) };
    expect(await call(tool, [around])).toMatchObject({ failure: { code: "denied" } });
    expect(told).toHaveBeenLastCalledWith(expect.any(TypeError), "authorize");
    expect(execute).not.toHaveBeenCalled();
  });

  test.each<[string, unknown, object]>([
    ["a refusal is told to the program", new CallRefusal("denied", "no"), { code: "denied", message: "no" }],
    [
      "anything else is not",
      new Error("secret"),
      { code: "denied", message: 'Cannot call tool "t": it could not be authorised' },
    ],
  ])("may throw: %s", async (_, error, failure) => {
    execute.mockClear();
    const decide = vi.fn<() => "allow">(() => "allow");
    const around: AdapterMiddleware = { [VALIDATE]: () => Promise.reject(error), decide };
    expect(await call(tool, [around])).toMatchObject({ failure });
    expect(told).toHaveBeenLastCalledWith(error, "authorize");
    expect(decide).not.toHaveBeenCalled();
    expect(execute).not.toHaveBeenCalled();
  });

  test("is not asked about a call of a run that has ended", async () => {
    const asked = vi.fn<NonNullable<AdapterMiddleware[typeof VALIDATE]>>();
    const signal = AbortSignal.abort();
    const outcome = invoke(
      toCallSetup({ tools: { t: tool }, context: { signal }, middleware: [{ [VALIDATE]: asked }] }),
    );
    expect(await outcome).toMatchObject({ failure: { code: "denied" } });
    expect(asked).not.toHaveBeenCalled();
  });
});

describe("a decision", () => {
  test.each<[string, NonNullable<CallMiddleware["decide"]>, object]>([
    ["no", () => ({ deny: "never" }), { kind: "failure", failure: { code: "denied" } }],
    ["ask somebody", () => ({ suspend: { why: 1 } }), { kind: "asked", payload: { why: 1 } }],
    ["none", () => undefined as never, { kind: "failure", failure: { code: "denied" } }],
    [
      "no, though it also rewrites",
      () => ({ deny: "never", rewrite: { a: "y" } }),
      { kind: "failure", failure: { code: "denied" } },
    ],
    [
      "ask somebody, though it also rewrites",
      () => ({ suspend: { why: 2 }, rewrite: { a: "y" } }),
      { kind: "asked", payload: { why: 2 } },
    ],
    [
      "a rewriting that an undefined no comes with",
      () => ({ deny: undefined, rewrite: { a: "y" } }),
      { kind: "failure", failure: { code: "denied" } },
    ],
  ])("stops the call, and no later middleware is asked: %s", async (_title, decide, expected) => {
    const execute = vi.fn<() => number>(() => 1);
    const later = vi.fn<() => "allow">(() => "allow");
    expect(await call({ ...trimming, execute }, [{ decide }, { decide: later }])).toMatchObject(expected);
    expect(execute).not.toHaveBeenCalled();
    expect(later).not.toHaveBeenCalled();
  });
});

describe("middleware around a tool", () => {
  const around = (name: string, log: string[]): CallMiddleware => ({
    execute: async (_call, execute) => {
      log.push(`${name} begins`);
      const output = await execute();
      log.push(`${name} ends`);
      return `${name}(${String(output)})`;
    },
  });

  test("is nested in the order given", async () => {
    const log: string[] = [];
    const outcome = await call(trimming, [around("outer", log), around("inner", log)]);
    expect(log).toEqual(["outer begins", "inner begins", "inner ends", "outer ends"]);
    expect(outcome).toMatchObject({ output: '"outer(inner(x))"' });
  });

  test("may give the tool another signal, and take the parts of its output", async () => {
    const { signal } = new AbortController();
    const parts: unknown[] = [];
    let given: CallContext | undefined;
    const tool: AnyTool = {
      execute: async function* (_input: unknown, context: CallContext) {
        given = context;
        yield 1;
        yield 2;
      },
    };
    const outcome = await call(tool, [
      { execute: (_call, execute) => execute({ signal, onPart: (part) => void parts.push(part) }) },
    ]);
    expect(given).toMatchObject({ signal, context: "mine" });
    expect(parts).toEqual([1, 2]);
    expect(progress).not.toHaveBeenCalled();
    expect(outcome).toMatchObject({ output: "2" });
  });

  test("does not call the tool once the run has ended, however long it waited", async () => {
    const execute = vi.fn<() => number>(() => 1);
    const controller = new AbortController();
    const waiting: CallMiddleware = {
      execute: async (_call, next) => {
        controller.abort();
        return next();
      },
    };
    const outcome = await invoke(
      toCallSetup({
        tools: { t: { execute } },
        context: { signal: controller.signal },
        middleware: [waiting],
      }),
    );
    expect(outcome).toMatchObject({
      failure: { code: "denied", message: expect.stringContaining("the run has ended") },
    });
    expect(execute).not.toHaveBeenCalled();
  });

  test("does not call the tool after it asked for a decision, even if it catches what that threw", async () => {
    const execute = vi.fn<() => number>(() => 1);
    const catching: CallMiddleware = {
      execute: async ({ suspend }, next) => {
        try {
          suspend("ask");
        } catch {
          // The usual mistake.
        }
        return next();
      },
    };
    expect(await call({ execute }, [catching])).toMatchObject({ kind: "asked", payload: "ask" });
    expect(execute).not.toHaveBeenCalled();
  });

  test("does not call the tool when the call has ended", async () => {
    const execute = vi.fn<() => number>(() => 1);
    let kept: (() => Promise<unknown>) | undefined;
    const late: CallMiddleware = {
      execute: async (_call, next) => {
        kept = next;
        return 2;
      },
    };
    expect(await call({ execute }, [late])).toMatchObject({ output: "2" });
    await expect(kept?.()).rejects.toThrow(/the call has ended/);
    expect(execute).not.toHaveBeenCalled();
  });

  test("may suspend the run", async () => {
    const outcome = await call(trimming, [{ execute: async ({ suspend }) => suspend("ask") }]);
    expect(outcome).toEqual({ kind: "asked", call: 0, payload: "ask" });
  });
});

describe("middleware that observes the end", () => {
  test.each<[string, Parameters<typeof call>, object]>([
    ["completed", [trimming, []], { kind: "output", output: '"x"' }],
    ["unknown", [trimming, [], { name: "nope" }], { failure: { code: "unknown_tool" } }],
    ["of the wrong input", [trimming, [], { input: { a: 1 } }], { failure: { code: "invalid_input" } }],
    ["resolved with no", [trimming, [], { denial: "no" }], { failure: { code: "denied" } }],
    ["denied", [trimming, [{ decide: () => ({ deny: "no" }) }]], { failure: { code: "denied" } }],
    ["suspended", [trimming, [{ decide: () => ({ suspend: null }) }]], { kind: "asked" }],
  ])("of a call that is %s is told before the program", async (_title, [tool, rest, how], expected) => {
    const ended = vi.fn<NonNullable<CallMiddleware["end"]>>();
    const outcome = await call(tool, [...rest, { end: ended }], how);
    expect(outcome).toMatchObject(expected);
    expect(ended).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ callId: "r:0" }), outcome);
  });

  test("cannot make the call fail, and the host is told of its error", async () => {
    const error = new Error("observer");
    const failing: CallMiddleware = {
      end: () => {
        throw error;
      },
    };
    expect(await call(trimming, [failing])).toMatchObject({ kind: "output" });
    expect(told).toHaveBeenCalledWith(error, "middleware");
  });
});
