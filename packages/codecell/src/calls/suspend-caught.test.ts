/**
 * Tests of tools that catch what `call.suspend` throws, or call it where nobody expects it: the call is suspended all
 * the same.
 */
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { toCallSetup } from "../../../../test/call-setup.ts";
import type { CallOutcome } from "../contract/ledger.ts";
import type { AnyTool, CallContext } from "../contract/tool.ts";
import { invoke } from "./invoke.ts";

const progress = vi.fn<(output: unknown) => void>();

function call(execute: AnyTool["execute"], more: Partial<AnyTool> = {}): Promise<CallOutcome> {
  return invoke(toCallSetup({ tools: { t: { ...more, execute } }, onProgress: progress }));
}

const ASK = { ask: "me" };
const SUSPENDED = { kind: "asked", call: 0, payload: ASK };

/** Calls suspend and goes on. */
function swallow({ suspend }: CallContext): void {
  try {
    suspend(ASK);
  } catch {
    // The usual mistake.
  }
}

/** Rejects with what suspend threw. */
async function helper({ suspend }: CallContext): Promise<never> {
  await Promise.resolve();
  return suspend(ASK);
}

describe("a tool that asked to be suspended is suspended, even if it", () => {
  test.each<[string, AnyTool["execute"]]>([
    [
      "returns afterwards",
      (_input, context) => {
        swallow(context);
        return "paid";
      },
    ],
    [
      "returns afterwards, later",
      async (_input, context) => {
        await helper(context).catch(() => {});
        return "paid";
      },
    ],
    [
      "throws something else",
      (_input, context) => {
        swallow(context);
        throw new Error("Could not pay");
      },
    ],
    [
      "wraps what was thrown",
      async (_input, context) => {
        await helper(context).catch((error: unknown) => {
          throw new Error("Could not pay", { cause: error });
        });
      },
    ],
    [
      "asks again",
      (_input, context) => {
        swallow(context);
        return context.suspend({ ask: "somebody else" });
      },
    ],
    [
      "asks in a finally",
      (_input, { suspend }) => {
        try {
          return "paid";
        } finally {
          // oxlint-disable-next-line no-unsafe-finally
          suspend(ASK);
        }
      },
    ],
    [
      "returns from a finally",
      (_input, { suspend }) => {
        try {
          suspend(ASK);
        } finally {
          // oxlint-disable-next-line no-unsafe-finally
          return "paid";
        }
      },
    ],
    [
      "does not await who asks",
      async (_input, context) => {
        const asking = helper(context);
        asking.catch(() => {});
        // Longer than the helper takes.
        await new Promise(setImmediate);
        return "paid";
      },
    ],
    [
      "asks among others of which one is enough",
      async (_input, context) => Promise.any([helper(context), Promise.resolve("paid")]),
    ],
    [
      "gives what is not JSON",
      (_input, context) => {
        swallow(context);
        return 1n;
      },
    ],
    [
      "streams",
      async function* stream(_input, context) {
        await Promise.resolve();
        swallow(context);
        yield "paid";
      },
    ],
    [
      "streams, and fails",
      async function* stream(_input, context) {
        await Promise.resolve();
        swallow(context);
        if (context.callId !== "") throw new Error("Could not pay");
        yield "paid";
      },
    ],
  ])("%s [suspend:caught]", async (_name, execute) => {
    expect(await call(execute)).toEqual(SUSPENDED);
  });

  test("gives what does not fit its schema [suspend:caught]", async () => {
    const execute = (_input: unknown, context: CallContext): string => {
      swallow(context);
      return "paid";
    };
    expect(await call(execute, { output: z.number() })).toEqual(SUSPENDED);
  });

  test("asks while its output is being validated [suspend:caught]", async () => {
    let late: (() => void) | undefined;
    const output = z.string().refine(async () => {
      late?.();
      return true;
    });
    const execute = (_input: unknown, context: CallContext): string => {
      late = () => swallow(context);
      return "paid";
    };
    expect(await call(execute, { output })).toEqual(SUSPENDED);
  });
});

describe("call.suspend", () => {
  test("stops a stream that goes on, and reports no progress after it", async () => {
    progress.mockClear();
    const stopped = vi.fn<() => void>();
    const outcome = await call(async function* stream(_input, context) {
      try {
        yield "before";
        swallow(context);
        for (;;) yield "after";
      } finally {
        stopped();
      }
    });
    expect(outcome).toEqual(SUSPENDED);
    expect(progress.mock.calls).toEqual([["before"]]);
    expect(stopped).toHaveBeenCalledOnce();
  });

  test("throws an Error that says what to do with it", async () => {
    let thrown: unknown;
    await call((_input, { suspend }) => {
      try {
        suspend(ASK);
      } catch (error) {
        thrown = error;
        throw error;
      }
    });
    expect(thrown).toBeInstanceOf(Error);
    expect(thrown).toMatchObject({
      name: "CallSuspended",
      message: "The call is suspended until it is resolved: do not catch this, rethrow it",
    });
  });

  test("throws when the call has ended", async () => {
    let suspend: CallContext["suspend"] | undefined;
    const outcome = await call((_input, context) => {
      ({ suspend } = context);
      return 1;
    });
    expect(outcome).toMatchObject({ kind: "output" });
    expect(() => suspend?.(ASK)).toThrow("Cannot suspend the run: the call has ended");
  });

  test("suspends the call that it belongs to, and no other", async () => {
    const gate = Promise.withResolvers<CallContext>();
    const over = Promise.withResolvers<void>();
    const first = call(async (_input, context) => {
      gate.resolve(context);
      await over.promise;
    });
    const other = await gate.promise;
    const second = await call(() => other.suspend(ASK));
    expect(second).toMatchObject({
      kind: "failure",
      failure: { code: "tool_failed", name: "CallSuspended" },
    });
    over.resolve();
    expect(await first).toEqual(SUSPENDED);
  });
});
