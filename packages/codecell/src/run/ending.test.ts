/** Tests of how runs end while something is still on its way. */
import { afterAll, describe, expect, test, vi } from "vitest";
import type { ToolSet } from "../contract/tool.ts";
import { createHost } from "./host/host.ts";

const host = createHost({ workers: 2 });
afterAll(() => host[Symbol.asyncDispose]());

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("a program that returns while timers are due", () => {
  test.each([
    [
      "an interval",
      "setInterval(() => {}, 1); await tools.soon({}); let n = 0; for (let i = 0; i < 20000; i++) n += i; return n",
    ],
    [
      "a timer beside a computation",
      "setTimeout(() => {}, 5); await tools.soon({}); let n = 0; for (let i = 0; i < 200000; i++) n += 1; return n",
    ],
  ])("completes: %s", async (_name, source) => {
    const tools: ToolSet = { soon: { execute: () => pause(5) } };
    const handles = Array.from({ length: 20 }, () =>
      host.start({ source, tools, limits: { wallTimeMs: 20_000 } }),
    );
    for (const handle of handles) {
      expect(await handle.result).toMatchObject({ status: "completed" });
      expect(await host.replay(handle.ledger()).result).toMatchObject({ status: "completed" });
    }
  });

  test("does nothing that a timer would have done after the end, also on replay", async () => {
    const source = "setInterval(() => console.log('tick'), 1); await tools.soon({}); return 1";
    const handle = host.start({ source, tools: { soon: { execute: () => pause(10) } } });
    const result = await handle.result;
    expect(await host.replay(handle.ledger()).result).toMatchObject({
      status: "completed",
      logs: result.logs,
    });
  });
});

test("a run with many large inputs, one after the other, can be replayed", async () => {
  const source = "let n = 0; for (let i = 0; i < 9; i++) n += await tools.size('x'.repeat(1e6)); return n";
  const handle = host.start({ source, tools: { size: { execute: (text: string) => text.length } } });
  expect(await handle.result).toMatchObject({ status: "completed", value: 9e6 });
  expect(await host.replay(handle.ledger()).result).toMatchObject({ status: "completed", value: 9e6 });
});

describe("a run that has ended does not make a call", () => {
  test("that was being authorised when the run was aborted", async () => {
    const execute = vi.fn<() => number>(() => 1);
    const abort = new AbortController();
    const asked = Promise.withResolvers<void>();
    const { result } = host.start({
      source: "await tools.pay({})",
      tools: { pay: { execute } },
      signal: abort.signal,
      authorize: async () => {
        abort.abort();
        await asked.promise;
        return "allow" as const;
      },
    });
    expect(await result).toMatchObject({ failure: { code: "aborted" } });
    asked.resolve();
    await pause(0);
    expect(execute).not.toHaveBeenCalled();
  });

  test("whose program threw meanwhile", async () => {
    const execute = vi.fn<() => number>(() => 1);
    const { result } = host.start({
      source: "tools.pay({}).catch(() => {}); await tools.quick({}); throw new Error('bye')",
      tools: { pay: { execute }, quick: { execute: () => 1 } },
      authorize: async ({ tool, signal }) => {
        if (tool === "pay") await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return "allow" as const;
      },
    });
    expect(await result).toMatchObject({ failure: { code: "guest_error" } });
    expect(execute).not.toHaveBeenCalled();
  });
});

describe("resuming with what is not a resolution", () => {
  const tools: ToolSet = { gate: { execute: (_input, call) => call.resolution ?? call.suspend("ask") } };

  test.each([
    ["a text", "ana"],
    ["null", null],
    ["an empty object", {}],
    ["a denial without a text", { deny: true }],
    ["an answer beside a denial without a text", { resolution: 1, deny: undefined }],
  ])("%s is refused, and the token is not used up", async (_name, resolution) => {
    const result = await host.start({ source: "return await tools.gate(1)", tools }).result;
    if (result.status !== "suspended") throw new Error(result.status);
    const { token, pending } = result.suspension;
    const callId = pending[0]?.callId ?? "";
    expect(() => host.resume({ token, tools, resolutions: { [callId]: resolution as never } })).toThrow(
      TypeError,
    );
    const strange = await host.resume({ token, tools, resolutions: { other: { resolution: 1 } } }).result;
    expect(strange).toMatchObject({
      failure: { code: "resume_invalid", message: expect.stringContaining('no call "other" is pending') },
    });
    expect(() => host.resume({ token, tools: { gate: {} as never }, resolutions: {} })).toThrow(
      'tool "gate" has no execute',
    );
    expect(
      await host.resume({ token, tools, resolutions: { [callId]: { resolution: 7 } } }).result,
    ).toMatchObject({ value: 7 });
  });
});

test("a run that is too large to be sealed fails with suspension_limit", async () => {
  const source = "for (let i = 0; i < 5; i++) await tools.big(); await tools.gate()";
  const result = await host.start({
    source,
    tools: {
      big: { execute: () => "x".repeat(1000) },
      gate: { execute: (_input, call) => call.suspend("ask") },
    },
    limits: { suspensionBytes: 4096 },
  }).result;
  expect(result).toMatchObject({ failure: { code: "suspension_limit" } });
});

test("timers count against ledgerSize", async () => {
  const source = "for (let i = 0; i < 100; i++) setInterval(() => {}, 1); await new Promise(() => {})";
  const result = await host.start({ source, limits: { ledgerSize: 64 * 1024 } }).result;
  expect(result).toMatchObject({ failure: { code: "call_limit" } });
});

test("a refused run was never rebuilt", async () => {
  const result = await host.start({ source: "return 1", signal: AbortSignal.abort() }).result;
  expect(result.stats.rebuilds).toBe(0);
});

test("names and texts keep a leading byte order mark", async () => {
  const result = await host.start({
    source: "console.log('\\uFEFFhi'); return await tools['\\uFEFFx'](1).catch((e) => e.code)",
    tools: { x: { execute: () => 1 } },
  }).result;
  expect(result).toMatchObject({ value: "unknown_tool", logs: [{ text: "\uFEFFhi" }] });
});
