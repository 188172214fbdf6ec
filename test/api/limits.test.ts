import { createHost, type LimitName, type Limits, type ToolSet } from "codecell";
import { describe, expect, test } from "vitest";
import { echo, failureOf, host, sleep, valueOf } from "./harness.ts";

const tools: ToolSet = {
  ...echo,
  slow: { execute: (_input, { signal }) => sleep(5000, signal) },
  long: { execute: (n: number) => "x".repeat(n) },
};

describe("limits", () => {
  const cases: readonly (readonly [LimitName, number, string, string, string])[] = [
    ["wallTimeMs", 100, "await tools.slow({})", "timeout", "100 ms"],
    ["cpuTimeMs", 50, "for (;;);", "timeout", "50 ms"],
    [
      "memoryBytes",
      4 << 20,
      "const a = []; for (;;) a.push('x'.repeat(1000) + a.length)",
      "memory_limit",
      "4194304",
    ],
    ["sourceBytes", 10, "return 'a long text'", "source_limit", "10"],
    ["resultBytes", 100, "return 'x'.repeat(1000)", "result_limit", "100"],
    ["calls", 3, "for (let i = 0; i < 5; i++) await tools.echo(i)", "call_limit", "3"],
    ["ledgerSize", 2000, "for (let i = 0; i < 9; i++) await tools.long(500)", "call_limit", "2000"],
    ["stackBytes", 32 << 10, "const f = () => f() + 1; f()", "guest_error", ""],
    ["timers", 2, "for (let i = 0; i < 3; i++) setTimeout(() => {}, 9999)", "guest_error", "2 timers"],
  ];

  test.each(cases)("%s holds [limits:hold]", async (name, value, source, code, text) => {
    const failure = await failureOf(source, { tools, limits: { [name]: value } });
    expect(failure.code).toBe(code);
    expect(failure.message).toContain(text);
  });

  test.each([
    ["callInputBytes", "tools.echo('x'.repeat(200))", "input_limit"],
    ["callOutputBytes", "tools.long(200)", "output_limit"],
  ])("%s holds, and the program may go on [limits:hold]", async (name, call, code) => {
    const source = `try { await ${call} } catch (e) { return e.code }`;
    expect(await valueOf(source, { tools, limits: { [name]: 100 } })).toBe(code);
  });

  test("logBytes holds, and lines beyond it are counted [limits:hold]", async () => {
    // Each line counts 16 bytes more than its text.
    const { result } = host.start({
      source: "for (let i = 0; i < 10; i++) console.log('0123456789')",
      limits: { logBytes: 4 * 26 },
    });
    const { logs, logsDropped } = await result;
    expect(logs).toHaveLength(4);
    expect(logsDropped).toBe(6);
  });

  test("waiting for tools costs no processor time [limits:hold]", async () => {
    const wait: ToolSet = { wait: { execute: () => sleep(150) } };
    const source = "await tools.wait({}); await tools.wait({}); return 1";
    expect(await valueOf(source, { tools: wait, limits: { cpuTimeMs: 100 } })).toBe(1);
  });

  test("limits are clamped, and wrong values throw [limits:resolved]", async () => {
    const run = host.start({ source: "return 1", limits: { stackBytes: 1 << 30, wallTimeMs: 1 } });
    expect(run.ledger().limits).toMatchObject({ stackBytes: 256 << 10, wallTimeMs: 10 });
    await run.result;
    const wrong = [
      { wallTimeMs: -1 },
      { calls: 1.5 },
      { calls: Number.NaN },
      { wallTime: 5 },
    ] as Partial<Limits>[];
    for (const limits of wrong) {
      expect(() => host.start({ source: "", limits })).toThrow(RangeError);
      expect(() => createHost({ limits })).toThrow(RangeError);
    }
  });

  test("a run's limits override the host's, which override the defaults [limits:resolved]", async () => {
    await using own = createHost({ workers: 1, limits: { calls: 7, timers: 8 } });
    const run = own.start({ source: "", limits: { calls: 9 } });
    expect(run.ledger().limits).toMatchObject({ calls: 9, timers: 8, callsInFlight: 32 });
    await run.result;
  });

  test("a run has its limits as they are when it starts, whatever other runs had [limits:resolved]", async () => {
    let calls = 1;
    const plain = { calls };
    const limits = {
      plain,
      frozen: Object.freeze({ calls }),
      live: Object.freeze({
        get calls() {
          return calls;
        },
      }),
    };
    const started = (given: Partial<Limits>): number =>
      host.start({ source: "", limits: given }).ledger().limits.calls;
    expect(Object.values(limits).map(started)).toEqual([1, 1, 1]);
    calls = 2;
    plain.calls = calls;
    expect(Object.values(limits).map(started)).toEqual([2, 1, 2]);
    await using other = createHost({ workers: 1, limits: { timers: 5 } });
    const run = other.start({ source: "", limits: limits.frozen });
    expect(run.ledger().limits).toMatchObject({ calls: 1, timers: 5 });
    await run.result;
  });
});
