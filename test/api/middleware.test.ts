/** Middleware of a run: objects, instances of classes, and values that are not middleware. */
import {
  type CallDetails,
  type CallMiddleware,
  createHost,
  type Decision,
  type ExecuteTool,
  type ToolSet,
} from "codecell";
import { describe, expect, test, vi } from "vitest";
import { type AdapterMiddleware, BEFORE_END } from "../../packages/codecell/src/calls/middleware.ts";
import { echo, host, valueOf } from "./harness.ts";
import { suspensionOf } from "./suspension-of.ts";

/** A policy with state, and methods that need it. */
class Policy implements CallMiddleware {
  readonly forbidden = new Set(["drop"]);
  readonly ended: string[] = [];

  decide({ tool }: CallDetails): Decision {
    return this.forbidden.has(tool) ? { deny: "not this one" } : "allow";
  }

  async execute({ tool }: CallDetails, execute: ExecuteTool): Promise<unknown> {
    return `${tool} of ${this.forbidden.size}: ${String(await execute())}`;
  }

  end({ tool }: CallDetails): void {
    this.ended.push(tool);
  }
}

describe("middleware of a run", () => {
  test("may be an instance of a class [tools:middleware]", async () => {
    const policy = new Policy();
    const drop = vi.fn<() => string>();
    const source = "return [await tools.keep(), await tools.drop().catch((error) => error.message)]";
    const tools = { keep: { execute: () => "kept" }, drop: { execute: drop } };
    expect(await valueOf(source, { tools, middleware: [policy] })).toEqual([
      "keep of 1: kept",
      expect.stringContaining("not this one"),
    ]);
    expect(drop).not.toHaveBeenCalled();
    expect(policy.ended).toEqual(["keep", "drop"]);
  });

  test("comes before authorize, which sees the input that will be executed [tools:middleware]", async () => {
    const seen: unknown[] = [];
    const value = await valueOf("return await tools.echo(1)", {
      tools: echo,
      middleware: [{ decide: ({ input }) => ({ rewrite: [input] }) }],
      authorize: ({ input }) => (seen.push(input), "allow"),
    });
    expect(value).toEqual([1]);
    expect(seen).toEqual([[1]]);
  });

  test("whose end fails is reported to the host, and the call keeps its own outcome [host:errors]", async () => {
    const thrown = new Error("of the tool");
    const told: unknown[] = [];
    const result = await host.start({
      source: "return await tools.fail()",
      tools: {
        fail: {
          execute: () => {
            throw thrown;
          },
        },
      },
      middleware: [{ end: () => Promise.reject(new Error("of the observer")) }],
      onError: ({ error, source }) => void told.push([source, String(error)]),
    }).result;
    expect(result).toMatchObject({ status: "failed", failure: { code: "tool_failed" } });
    expect(result.status === "failed" && result.cause).toBe(thrown);
    expect(told).toEqual([
      ["tool", "Error: of the tool"],
      ["middleware", "Error: of the observer"],
    ]);
  });

  test.each([
    ["an object", {}, /a list/],
    ["a list of functions", [() => "allow"], /a list of objects/],
    ["an object without any part", [{}], /decide, execute or end/],
    ["a part that is misspelt", [{ decide: () => "allow", exceute: () => 1 }], /not "exceute"/],
    ["a part that is not a function", [{ decide: "allow" }], /middleware\.decide must be a function/],
    [
      "a class whose methods are misspelt",
      [
        new (class {
          decides = 1;
        })(),
      ],
      /decide, execute or end/,
    ],
  ])("is refused at the start if it is %s [host:misuse]", (_title, middleware, message) => {
    expect(() => host.start({ source: "", middleware: middleware as never })).toThrow(message);
  });
});

describe("middleware of an adapter that keeps a call from ending", () => {
  /** Keeps every payment from ending, for ever. */
  const keeping: AdapterMiddleware = {
    decide: () => "allow",
    [BEFORE_END]: ({ tool }) => (tool === "pay" ? new Promise(() => {}) : Promise.resolve()),
  };
  const failing = "void tools.pay({}); await tools.none({}).catch(() => {}); throw new Error('broken')";

  test.each(["beside a call that asks", "and is resumed with its question open"])(
    "keeps it no longer when the run is suspended %s",
    async (title) => {
      const sealKey = new Uint8Array(32).fill(3);
      await using here = createHost({ workers: 1, sealKey });
      await using there = createHost({ workers: 1, sealKey });
      const isTwice = title.startsWith("and");
      let paid = 0;
      const tools: ToolSet = {
        pay: { execute: () => ++paid },
        ask: { execute: (_input, call) => call.resolution ?? call.suspend("?") },
      };
      const source = isTwice
        ? "const asked = tools.ask({}), other = tools.ask({}); await other; return [await tools.pay({}), await asked]"
        : "return Promise.all([tools.pay({}), tools.ask({})])";
      const middleware = [keeping];
      let suspension = suspensionOf(await here.start({ source, tools, middleware }).result);
      const answers = (which: number): object => ({
        [suspension.pending[which]?.callId ?? ""]: { resolution: "yes" },
      });
      if (isTwice) {
        const { token } = suspension;
        const resumed = here.resume({ token, tools, middleware, resolutions: answers(1) as never });
        suspension = suspensionOf(await resumed.result);
      }
      // Another process knows only what the token says.
      const { token } = suspension;
      const result = await there.resume({ token, tools, resolutions: answers(0) as never }).result;
      expect(result).toMatchObject({ value: [1, "yes"] });
      expect(paid).toBe(1);
    },
  );

  test("keeps it no longer when the program has failed", async () => {
    const ended: string[] = [];
    const tools: ToolSet = { pay: { execute: () => 1 } };
    const observing: CallMiddleware = { end: ({ tool }) => void ended.push(tool) };
    const result = await host.start({ source: failing, tools, middleware: [keeping, observing] }).result;
    expect(result).toMatchObject({ failure: { code: "guest_error" } });
    expect(ended).toContain("pay");
  });
});
