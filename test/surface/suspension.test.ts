/** Programs that are suspended and waited for. */
import { createMemoryStore } from "codecell/store";
import type { CallRecord } from "codecell/surface";
import { describe, expect, test } from "vitest";
import { instead } from "../api/store-doubles.ts";
import { openWarmDesk, until, waitingOf } from "./fixtures.ts";
import { startStopwatch } from "../processor-time.ts";

/** Long enough for a program to reach its first call. */
const SOON = { enabled: true, timeoutMs: 200 };
/** Computes so much that a suspended program is kept as a snapshot, and not rebuilt from its ledger. */
const BUSY = "let n = 0; const until = Date.now(); for (let i = 0; i < 3e6; i++) n += i % 7;";

describe("suspension", () => {
  test("[exec-wait:72] wait goes on where exec stopped, with everything the program had", async () => {
    await using desk = await openWarmDesk({ config: SOON });
    const first = waitingOf(
      await desk.exec(`
        const kept = { list: [1, 2, 3], map: new Map([["a", 1n]]), add: (x) => x + kept.list.length };
        text("a");
        const r = await tools.gate({ why: "test" });
        text("b");
        return [r, kept.add(10), kept.map.get("a") === 1n]`),
    );
    expect(first.reason).toBe("pending_tools");
    expect(first.runId).not.toBe("");
    expect(first.pendingToolCalls).toHaveLength(1);
    expect(first.output).toEqual([{ type: "text", text: "a" }]);
    expect(desk.runtime.suspendedPrograms).toBe(1);
    desk.gate.release("let through");
    const second = await desk.wait(first.runId);
    expect(second).toMatchObject({ status: "completed", value: ["let through", 13, true] });
    expect(second.output).toEqual([{ type: "text", text: "b" }]);
    expect(second).not.toHaveProperty("runId");
    expect(desk.runtime.suspendedPrograms).toBe(0);
  });

  test("[exec-wait:73] a tool that answers in 50 ms never costs a wait", async () => {
    await using desk = await openWarmDesk({ config: { enabled: true, timeoutMs: 5000 } });
    const result = await desk.exec("return await tools.slow({ ms: 50 })");
    expect(result).toMatchObject({ status: "completed", value: 50 });
    expect(result.telemetry.snapshots.created).toBe(0);
  });

  test("[exec-wait:74] a slow tool gives waiting near the deadline and goes on; nothing is run twice", async () => {
    await using desk = await openWarmDesk({ config: { enabled: true, timeoutMs: 300 } });
    const [begun, elapsedMs] = [performance.now(), startStopwatch()];
    const first = waitingOf(
      await desk.exec(`
        globalThis.runs = (globalThis.runs ?? 0) + 1;
        await tools.echo({ side: "effect" });
        const r = await tools.gate({});
        return [r, globalThis.runs]`),
    );
    expect(performance.now() - begun).toBeGreaterThan(250);
    expect(elapsedMs()).toBeLessThan(300 + 2000);
    expect(desk.gate.signals[0]?.aborted).toBe(false);
    expect(desk.gate.open).toBe(1);
    desk.gate.release();
    expect(await desk.wait(first.runId)).toMatchObject({ status: "completed", value: ["released", 1] });
    expect(desk.told).toHaveLength(1);
    expect(desk.gate.made).toBe(1);
    expect(desk.hooked.map(({ name }) => name)).toEqual(["echo", "gate"]);
  });

  test("[exec-wait:75] wait gives waiting again, with the same id, while the call is pending", async () => {
    await using desk = await openWarmDesk({ config: SOON });
    const first = waitingOf(await desk.exec("text('once'); return await tools.gate({})"));
    const second = waitingOf(await desk.wait(first.runId));
    const third = waitingOf(await desk.wait(first.runId));
    expect([second.runId, third.runId]).toEqual([first.runId, first.runId]);
    expect([second.reason, third.reason]).toEqual(["pending_tools", "pending_tools"]);
    // The same call, with the time when it first began.
    expect(third.pendingToolCalls).toEqual(first.pendingToolCalls);
    expect(third.output).toBeUndefined();
    expect(desk.gate.made).toBe(1);
    expect(desk.runtime.suspendedPrograms).toBe(1);
    desk.gate.release(7);
    expect(await desk.wait(first.runId)).toMatchObject({ status: "completed", value: 7 });
  });

  test("a wait under way ends when the call answers, not when its time is up", async () => {
    await using desk = await openWarmDesk({ config: { enabled: true, timeoutMs: 60_000 } });
    const first = waitingOf(await desk.exec("await yield_control(); return await tools.gate({})"));
    const waited = desk.wait(first.runId);
    await until(() => desk.gate.open === 1);
    desk.gate.release("now");
    expect(await waited).toMatchObject({ status: "completed", value: "now" });
  });

  test("[exec-wait:76] yield_control gives waiting with reason yield, and wait continues", async () => {
    await using desk = await openWarmDesk();
    const first = waitingOf(
      await desk.exec(
        "const kept = 41; text('before'); await yield_control('x'); text('after'); return kept + 1",
      ),
    );
    expect(first).toMatchObject({ reason: "yield", output: [{ type: "text", text: "before" }] });
    expect(first).not.toHaveProperty("pendingToolCalls");
    expect(await desk.wait(first.runId)).toMatchObject({
      status: "completed",
      value: 42,
      output: [{ type: "text", text: "after" }],
    });
  });

  test("[exec-wait:76] a yield with a pending call gives pending_tools", async () => {
    await using desk = await openWarmDesk({ config: SOON });
    const first = waitingOf(
      await desk.exec("const p = tools.gate({}); await yield_control('x'); return await p"),
    );
    expect(first).toMatchObject({ reason: "pending_tools", pendingToolCalls: [{ tool: "core:core:gate" }] });
    desk.gate.release("both");
    expect(await desk.wait(first.runId)).toMatchObject({ status: "completed", value: "both" });
  });

  test("[exec-wait:77] a program is suspended several times, and ids are unique", async () => {
    await using desk = await openWarmDesk({ config: SOON });
    const source = `
      const got = [];
      for (let i = 0; i < 3; i++) { text("ask " + i); got.push(await tools.gate({ i })); }
      await yield_control();
      return got`;
    const both = [waitingOf(await desk.exec(source)), waitingOf(await desk.exec(source))];
    expect(new Set(both.map(({ runId }) => runId)).size).toBe(2);
    const callIds = new Set<string | undefined>();
    for (const [index, { runId, pendingToolCalls }] of both.entries()) {
      callIds.add(pendingToolCalls?.[0]?.id);
      // The oldest call is the first program's, the next is the second program's.
      desk.gate.release(`${index}-0`);
      for (const round of [1, 2]) {
        const next = waitingOf(await desk.wait(runId));
        expect(next).toMatchObject({ runId, output: [{ type: "text", text: `ask ${round}` }] });
        callIds.add(next.pendingToolCalls?.[0]?.id);
        if (index === 1) desk.gate.release(`${index}-${round}`);
        else await untilReleased(desk.gate, round);
      }
      expect(waitingOf(await desk.wait(runId)).reason).toBe("yield");
      const value = [0, 1, 2].map((round) => `${index}-${round}`);
      expect(await desk.wait(runId)).toMatchObject({ status: "completed", value });
    }
    expect(callIds.size).toBe(6);
  });

  test("[exec-wait:78] one of two calls answers, which decides a race in the wait", async () => {
    await using desk = await openWarmDesk({ config: SOON });
    const first = waitingOf(
      await desk.exec(
        "const a = tools.gate({ n: 1 }), b = tools.gate({ n: 2 }); text(await Promise.race([a, b])); return await Promise.all([a, b])",
      ),
    );
    expect(first.pendingToolCalls).toHaveLength(2);
    desk.gate.release("first");
    const second = waitingOf(await desk.wait(first.runId));
    expect(second.output).toEqual([{ type: "text", text: "first" }]);
    expect(second.pendingToolCalls?.map(({ input }) => input)).toEqual(['{"n":2}']);
    desk.gate.release("second");
    expect(await desk.wait(first.runId)).toMatchObject({ status: "completed", value: ["first", "second"] });
  });

  test.each([
    ["a token", undefined],
    ["a store", createMemoryStore],
  ])("[exec-wait:78] the first of two calls that answered before the wait wins, from %s", async (_, open) => {
    const store = open?.();
    let posts = 0;
    const counting =
      store && instead(store, { post: (...given) => store.post(...given).finally(() => posts++) });
    // With a store, a call is recorded before it is made.
    const config = { enabled: true, timeoutMs: 1000 };
    await using desk = await openWarmDesk({
      config,
      hosting: counting === undefined ? {} : { store: counting },
    });
    const { runId } = waitingOf(
      await desk.exec("return await Promise.race([tools.gate({ n: 1 }), tools.gate({ n: 2 })])"),
    );
    const settled = async (count: number): Promise<void> => {
      const isOver = ({ status }: CallRecord): boolean => status === "completed";
      await until(async () => (await desk.run.trajectory()).calls.filter(isOver).length === count);
      if (counting !== undefined) await until(() => posts === count);
      // The tool writes the record; the host gets the output a moment later.
      await new Promise(setImmediate);
    };
    desk.gate.release("second call", 1);
    await settled(1);
    desk.gate.release("first call");
    await settled(2);
    expect(await desk.wait(runId)).toMatchObject({ status: "completed", value: "second call" });
  });

  test.each([
    ["unknown", { runId: "nobody" }, /no suspended program "nobody".*exec/u],
    ["very long", { runId: "x".repeat(100_000) }, /exec/u],
    ["empty", { runId: "" }, /wait needs \{ runId \}.*waiting result of exec/u],
    ["missing", {}, /wait needs/u],
    ["no string", { runId: 7 }, /wait needs/u],
    ["no object", "r1", /wait needs/u],
    ["nothing", undefined, /wait needs/u],
  ])("[exec-wait:79] a run id that is %s fails and says what to do next", async (_, input, message) => {
    await using desk = await openWarmDesk();
    const result = await desk.run.wait(input);
    expect(result).toMatchObject({ status: "failed", code: "invalid_input" });
    const error = result.status === "failed" ? result.error : "";
    expect(error).toMatch(message);
    expect(error.length).toBeLessThan(300);
  });

  test("[exec-wait:88] a timeout after a resume fails, and nothing of the program is left", async () => {
    await using desk = await openWarmDesk({ config: { enabled: true, timeoutMs: 200 } });
    const { runId } = waitingOf(await desk.exec("await tools.gate({}); text('again'); while (true) {}"));
    desk.gate.release();
    const result = await desk.wait(runId);
    expect(result).toMatchObject({ status: "failed", code: "timeout" });
    expect(result.telemetry.failures).toEqual({ timeout: 1 });
    expect(desk.runtime.suspendedPrograms).toBe(0);
    expect(await desk.wait(runId)).toMatchObject({ status: "failed", code: "invalid_input" });
  });

  describe.each([
    ["rebuilt", ""],
    ["restored from a snapshot", BUSY],
  ])("a program that is %s", (_, before) => {
    const run = async (rest: string, timeoutMs = 60_000): Promise<unknown> => {
      const memoryLimitBytes = 16 * 1024 * 1024;
      await using desk = await openWarmDesk({ config: { enabled: true, timeoutMs, memoryLimitBytes } });
      const { runId } = waitingOf(await desk.exec(`${before} await yield_control(); ${rest}`));
      return await desk.wait(runId);
    };

    test("[exec-wait:89] has its memory limit", async () => {
      expect(await run("const a = []; for (;;) a.push('x'.repeat(1e5) + a.length);")).toMatchObject({
        status: "failed",
        code: "memory_limit_exceeded",
      });
    });

    test("[exec-wait:89] has its stack limit", async () => {
      const rest =
        "const deep = () => deep() + 1; try { deep() } catch (e) { return e instanceof RangeError }";
      expect(await run(rest)).toMatchObject({ status: "completed", value: true });
    });

    test("[exec-wait:89] is interrupted", async () => {
      expect(await run("for (;;) await null", 3000)).toMatchObject({ status: "failed", code: "timeout" });
    });
  });
});

/** Answers a call of the first program, although a call of the second program is older. */
async function untilReleased(
  gate: { readonly open: number; release(value: unknown, at?: number): void },
  round: number,
) {
  await until(() => gate.open === 2);
  gate.release(`0-${round}`, 1);
}
