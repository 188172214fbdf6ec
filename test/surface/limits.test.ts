/** Programs that need too much time, memory or stack. Each ends by itself and blocks no other program. */
import { describe, expect, test } from "vitest";
import { Watch } from "../attacks/watch.ts";
import { openDesk } from "./fixtures.ts";
import { failedOf, Stubborn, valueOf, waitingOf } from "./results.ts";
import { startStopwatch } from "../processor-time.ts";

const MiB = 1024 * 1024;

describe("an endless program", () => {
  test.each([
    ["a loop", "while (true) {}"],
    ["a loop that catches", "for (;;) try { for (;;); } catch {}"],
    ["awaits without end", "for (;;) await null"],
    // Not returned: a chain of promises would fill the memory first.
    [
      "microtasks without end",
      "const again = () => { Promise.resolve().then(again) }; again(); await new Promise(() => {})",
    ],
    ["queued microtasks", "const again = () => queueMicrotask(again); again(); await new Promise(() => {})"],
    ["a catastrophic pattern", "return /^(a+)+$/.test('a'.repeat(40) + 'b')"],
    ["a getter in the result", "return { get a() { for (;;); } }"],
    ["a toJSON in the result", "return { toJSON() { for (;;); } }"],
    ["a getter in printed output", "json({ get a() { for (;;); } })"],
    ["a getter in an input", "await tools.echo({ get a() { for (;;); } })"],
    ["a proxy in the result", "return new Proxy({}, { ownKeys() { for (;;); } })"],
    ["a thenable as result", "return { then() { for (;;); } }"],
    ["an error that takes long to tell", "throw { get message() { for (;;); } }"],
    ["a sort", "[3, 1, 2].sort(() => { for (;;); })"],
    [
      "a native loop",
      "return 'x'.repeat(1 << 20).split('').map(() => 'y'.repeat(1 << 14).indexOf('z')).length",
    ],
  ])("ends with timeout, and blocks no other program: %s [exec-wait:61]", async (_what, code) => {
    const timeoutMs = 500;
    await using desk = openDesk({ config: { enabled: true, timeoutMs } });
    await valueOf(desk.exec("return 'the worker has started'"));
    const watch = new Watch();
    const elapsedMs = startStopwatch();
    const failed = await failedOf(desk.exec(code));
    const tookMs = elapsedMs();
    const { loopGapMs, loopCpuMs } = watch.stop();
    expect(failed.code).toBe("timeout");
    expect(tookMs).toBeLessThan(timeoutMs + 2000);
    expect(loopCpuMs).toBeLessThan(200);
    // By the clock only a loop that stands still takes as long: pages, disks and locks count there too.
    expect(loopGapMs).toBeLessThan(1500);
    expect(desk.run.telemetry().failures).toEqual({ timeout: 1 });
    // With more time, since its worker may have been killed and another has to start first.
    const other = desk.prepare({ config: true, context: OTHER });
    expect(await valueOf(other.exec({ code: "return tools.echo(1)" }))).toEqual({ got: 1 });
  });

  test("ends in time also when a tool ignores its abort [exec-wait:61]", async () => {
    const stubborn = new Stubborn();
    const config = { enabled: true, timeoutMs: 500 };
    await using desk = openDesk({ config, tools: { core: { stubborn: { execute: stubborn.execute } } } });
    await valueOf(desk.exec("return 'the worker has started'"));
    const elapsedMs = startStopwatch();
    const result = desk.exec(
      "tools.stubborn({}); setTimeout(() => { for (;;); }, 1); await new Promise(() => {})",
    );
    expect((await failedOf(result)).code).toBe("timeout");
    expect(elapsedMs()).toBeLessThan(500 + 2000);
    expect(stubborn.signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("ends with timeout also when it waited before [exec-wait:61]", async () => {
    await using desk = openDesk({ config: { enabled: true, timeoutMs: 500 } });
    const { runId } = await waitingOf(desk.exec("await yield_control(); for (;;);"));
    expect((await failedOf(desk.wait(runId))).code).toBe("timeout");
    expect((await failedOf(desk.wait(runId))).code).toBe("invalid_input");
    expect(await valueOf(desk.exec("return 1"))).toBe(1);
  });

  test("blocks no other program of the process [exec-wait:61]", async () => {
    await using desk = openDesk({ config: { enabled: true, timeoutMs: 5000 } });
    await valueOf(desk.exec("return 'the worker has started'"));
    const endless = desk.exec("for (;;);");
    const other = desk.prepare({ config: true, context: OTHER });
    // There is one worker, and the endless program occupies it for five seconds.
    const elapsedMs = startStopwatch();
    expect(await valueOf(other.exec({ code: "return tools.echo(1)" }))).toEqual({ got: 1 });
    expect(elapsedMs()).toBeLessThan(4000);
    expect((await failedOf(endless)).code).toBe("timeout");
  });
});

const OTHER = { agentId: "a2", runId: "r2", sessionId: "s2", sessionKey: "k2" };

describe("a program that waits for something that cannot happen", () => {
  test.each([
    ["a promise that never settles", "await new Promise(() => {})"],
    ["an empty race", "await Promise.race([])"],
    ["a thenable that never calls back", "return { then() {} }"],
    ["a program that made calls before", "await tools.echo(1); await new Promise(() => {})"],
  ])("fails at once, and does not give waiting: %s [exec-wait:62]", async (_what, code) => {
    await using desk = openDesk();
    const elapsedMs = startStopwatch();
    const { code: failure, error } = await failedOf(desk.exec(code));
    expect(failure).toBe("internal_error");
    expect(error).toContain("nothing can settle");
    // It fails before its ten seconds are over.
    expect(elapsedMs()).toBeLessThan(5000);
  });

  test("fails in a wait too [exec-wait:62]", async () => {
    await using desk = openDesk();
    const { runId } = await waitingOf(desk.exec("await yield_control(); await new Promise(() => {})"));
    expect((await failedOf(desk.wait(runId))).error).toContain("nothing can settle");
    expect(desk.run.telemetry().snapshots).toMatchObject({ created: 1, restored: 1 });
  });
});

describe("memory", () => {
  const config = { enabled: true, memoryLimitBytes: 16 * MiB };
  /** For the whole process with all tests, whose memory varies by itself. */
  const MOST_MB = 320;

  test.each([
    ["an array", "const a = []; for (;;) a.push({ a })"],
    ["a text", "let s = 'x'; for (;;) s += s"],
    ["typed arrays", "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))"],
    ["one typed array", "return new Uint8Array(1 << 30).length"],
    [
      "buffers that grow",
      "const a = []; for (;;) a.push(new ArrayBuffer(1 << 20, { maxByteLength: 1 << 28 }))",
    ],
    ["a map", "const m = new Map(); for (let i = 0; ; i++) m.set(i, 'x'.repeat(100) + i)"],
    ["closures", "let f = () => 0; for (;;) { const g = f; f = () => g() + 1 }"],
    ["promises", "const p = []; for (;;) p.push(new Promise(() => {}).then(() => 1))"],
  ])("over its limit ends the program: %s [exec-wait:63]", async (_what, code) => {
    await using desk = openDesk({ config });
    await valueOf(desk.exec("return 'the worker has started'"));
    const watch = new Watch();
    const { code: failure } = await failedOf(desk.exec(code));
    expect(failure).toBe("memory_limit_exceeded");
    // Instances of the engine are kept for reuse. What matters is that the limit holds.
    expect(watch.stop().rssDeltaMB).toBeLessThan(MOST_MB);
    expect(await valueOf(desk.exec("return tools.echo(1)"))).toEqual({ got: 1 });
  });

  test("stays bounded when the program catches the error [exec-wait:63]", async () => {
    await using desk = openDesk({ config: { ...config, timeoutMs: 3000 } });
    await valueOf(desk.exec("return 'the worker has started'"));
    const watch = new Watch();
    const code = `const kept = []; let caught = 0;
      for (;;) { try { for (;;) kept.push(new Uint8Array(1 << 18).fill(1)) } catch (e) { if (++caught > 200) return caught } }`;
    const result = await desk.exec(code);
    if (result.status === "failed") expect(["memory_limit_exceeded", "timeout"]).toContain(result.code);
    else expect(result.status).toBe("completed");
    expect(watch.stop().rssDeltaMB).toBeLessThan(MOST_MB);
  });

  test("is given back, so that many programs at their limit do not add up [exec-wait:63]", async () => {
    await using desk = openDesk({ config });
    const code = "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))";
    const watch = new Watch();
    // Together these programs use four times what is tolerated.
    const times = (4 * MOST_MB) / 16;
    for (let i = 0; i < times; i++)
      expect((await failedOf(desk.exec(code))).code).toBe("memory_limit_exceeded");
    expect(watch.stop().rssDeltaMB).toBeLessThan(MOST_MB);
    expect(desk.run.telemetry().failures).toEqual({ memory_limit_exceeded: times });
  });
});

describe("deep recursion", () => {
  const CAUGHT = `(() => {
      let depth = 0;
      const down = () => { depth++; return down() + 1 };
      try { down() } catch (e) { return [e instanceof RangeError, depth > 100] }
    })()`;

  test("is a RangeError that can be caught [exec-wait:64]", async () => {
    await using desk = openDesk();
    expect(await valueOf(desk.exec(`return ${CAUGHT}`))).toEqual([true, true]);
  });

  test("is a RangeError after a wait too, and any number of times [exec-wait:64]", async () => {
    await using desk = openDesk();
    const code = `const first = ${CAUGHT}; await yield_control(); return [first, ${CAUGHT}, ${CAUGHT}, await tools.echo(1)]`;
    const { runId } = await waitingOf(desk.exec(code));
    expect(await valueOf(desk.wait(runId))).toEqual([[true, true], [true, true], [true, true], { got: 1 }]);
  });

  test.each([
    ["of a function", "const f = () => f() + 1; f()"],
    ["of a getter", "const o = { get a() { return this.a + 1 } }; o.a"],
    ["of a proxy", "const p = new Proxy({}, { get: (t, k) => p[k] }); p.a"],
    ["of toString", "const o = { toString() { return '' + this } }; '' + o"],
    [
      "of JSON",
      "let o = {}; const root = o; for (let i = 0; i < 100_000; i++) o = o.a = {}; JSON.stringify(root)",
    ],
    ["of a pattern", "new RegExp('('.repeat(100_000) + ')'.repeat(100_000)).test('a')"],
    ["of the parser", "return eval('['.repeat(100_000))"],
    [
      "of the returned value",
      "let o = {}; const root = o; for (let i = 0; i < 100_000; i++) o = o.a = {}; return root",
    ],
    [
      "of an input",
      "let o = {}; const root = o; for (let i = 0; i < 100_000; i++) o = o.a = {}; await tools.echo(root)",
    ],
  ])("that nobody catches fails the program and nothing else: %s [exec-wait:64]", async (_what, code) => {
    await using desk = openDesk();
    const result = await desk.exec(code);
    if (result.status === "failed")
      expect(["internal_error", "output_limit_exceeded", "nested_tool_failed"]).toContain(result.code);
    expect(await valueOf(desk.exec("return 1"))).toBe(1);
    expect(desk.run.telemetry().failures).not.toHaveProperty("runtime_unavailable");
  });
});
