/** Middleware of a run: objects, instances of classes, and values that are not middleware. */
import type { CallDetails, CallMiddleware, Decision, ExecuteTool } from "codecell";
import { describe, expect, test, vi } from "vitest";
import { echo, host, valueOf } from "./harness.ts";

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
