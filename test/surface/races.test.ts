/** What happens to suspended programs at the same time, and in an unlucky order. */
import { randomBytes } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createMemoryStore, StoreError } from "codecell/store";
import {
  type AgentContext,
  type CodeModeCompleted,
  type CodeModeResult,
  createAgentRuntime,
} from "codecell/surface";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { instead } from "../api/store-doubles.ts";
import { CONTEXT, openWarmDesk, until, waitingOf } from "./fixtures.ts";

const SOON = { enabled: true, timeoutMs: 200 };
const YIELDS = "await yield_control(); return await tools.gate({})";

function codeOf(result: CodeModeResult): string {
  return result.status === "failed" ? result.code : result.status;
}

function cutOf(result: CodeModeResult): { readonly ref: string } {
  expect(result).toMatchObject({ status: "completed", value: { ref: expect.any(String) as string } });
  return (result as CodeModeCompleted).value as unknown as { ref: string };
}

describe("two prepared runs of one scope", () => {
  test("are one agent run: either continues what the other began", async () => {
    await using desk = await openWarmDesk({ config: SOON });
    const again = desk.prepare();
    const { runId } = waitingOf(await desk.exec("await yield_control(); return 'from the other'"));
    expect(await again.wait({ runId })).toMatchObject({ status: "completed", value: "from the other" });
    expect(codeOf(await desk.wait(runId))).toBe("invalid_input");
  });

  test("save a large value for the run that shows its ref, even if the other run made it", async () => {
    await using desk = await openWarmDesk();
    const again = desk.prepare();
    const { runId } = waitingOf(await desk.exec("await yield_control(); return 'x'.repeat(100_000)"));
    const { ref } = cutOf(await again.wait({ runId }));
    const code = `return (await load_result("${ref}")).length`;
    expect(await again.exec({ code })).toMatchObject({ status: "completed", value: 100_000 });
  });

  test("have their own refs: a ref never leads to a value of the other run", async () => {
    await using desk = await openWarmDesk();
    const again = desk.prepare();
    const { ref } = cutOf(await desk.exec("return 'x'.repeat(100_000)"));
    cutOf(await again.exec({ code: "return 'y'.repeat(100_000)" }));
    const code = `return await load_result("${ref}")`;
    expect(await again.exec({ code })).toMatchObject({
      status: "failed",
      error: expect.stringContaining("no such result") as string,
    });
  });

  test("end together: a wait of one is aborted when the other ends", async () => {
    await using desk = await openWarmDesk();
    const again = desk.prepare();
    const { runId } = waitingOf(await desk.exec(YIELDS));
    const waited = again.wait({ runId });
    await until(() => desk.gate.open === 1);
    await desk.run.end();
    expect(codeOf(await waited)).toBe("aborted");
    expect(desk.runtime.suspendedPrograms).toBe(0);
    expect(desk.gate.signals[0]?.aborted).toBe(true);
  });
});

describe("a wait that cannot go on", () => {
  test("for lack of room leaves the program to the next wait", async () => {
    await using desk = await openWarmDesk({ hosting: { liveRuns: 1 } });
    const { runId } = waitingOf(await desk.exec("await yield_control(); return 'still there'"));
    const busy = desk.exec("return await tools.gate({})");
    await until(() => desk.gate.open === 1);
    const refused = await desk.wait(runId);
    expect(refused).toMatchObject({ status: "failed", code: "runtime_unavailable" });
    expect(refused.telemetry.snapshots.restored).toBe(0);
    desk.gate.release();
    await busy;
    expect(await desk.wait(runId)).toMatchObject({ status: "completed", value: "still there" });
  });

  test("because of its store leaves the program to the next wait", async () => {
    const store = createMemoryStore();
    let isDown = false;
    const faltering = instead(store, {
      claim: (...given) =>
        isDown ? Promise.reject(new StoreError("unavailable", "gone")) : store.claim(...given),
    });
    await using desk = await openWarmDesk({ hosting: { store: faltering } });
    const { runId } = waitingOf(await desk.exec("await yield_control(); return 'still there'"));
    isDown = true;
    expect(await desk.wait(runId)).toMatchObject({
      status: "failed",
      code: "internal_error",
      error: expect.stringContaining("wait for it again") as string,
    });
    isDown = false;
    expect(await desk.wait(runId)).toMatchObject({ status: "completed", value: "still there" });
  });

  test("because of its store leaves a program of another process, and counts no snapshot as gone", async () => {
    const store = createMemoryStore();
    let isDown = true;
    const faltering = instead(store, {
      claim: (...given) =>
        isDown ? Promise.reject(new StoreError("unavailable", "gone")) : store.claim(...given),
    });
    await using here = await openWarmDesk({ hosting: { store } });
    await using there = await openWarmDesk({ hosting: { store: faltering } });
    const { runId } = waitingOf(await here.exec("await yield_control(); return 'still there'"));
    const refused = await there.wait(runId);
    expect(refused).toMatchObject({
      code: "internal_error",
      error: expect.stringContaining("wait for it again") as string,
    });
    expect(refused.telemetry.snapshots).toEqual({ created: 0, restored: 0, expired: 0, dropped: 0 });
    isDown = false;
    expect(await there.wait(runId)).toMatchObject({ status: "completed", value: "still there" });
  });

  test("because its host throws leaves the program, and its snapshot is counted to its end", async () => {
    await using desk = await openWarmDesk();
    const { host } = desk;
    await using runtime = createAgentRuntime({
      host: {
        isDurable: false,
        limits: {},
        start: (options) => host.start(options),
        resume: () => {
          throw new Error("S3CRET");
        },
        discard: (options) => host.discard(options),
        readEnded: (options) => host.readEnded(options),
        deleteEnded: (options) => host.deleteEnded(options),
        replay: (ledger) => host.replay(ledger),
        fork: (ledger, options) => host.fork(ledger, options),
        [Symbol.asyncDispose]: async () => {},
      },
    });
    const run = runtime.prepareAgentRun({ config: true, tools: desk.tools, context: CONTEXT });
    const { runId } = waitingOf(await run.exec({ code: YIELDS }));
    const refused = await run.wait({ runId });
    expect(codeOf(refused)).toBe("internal_error");
    expect(JSON.stringify(refused)).not.toContain("S3CRET");
    expect(runtime.suspendedPrograms).toBe(1);
    await run.end();
    expect(run.telemetry().snapshots).toEqual({ created: 1, restored: 0, expired: 0, dropped: 1 });
  });

  test("because of wrong decisions leaves the program and its question", async () => {
    const asking = {
      execute: (_: unknown, call: { resolution: unknown; suspend(of: string): never }) =>
        call.resolution ?? call.suspend("well?"),
    };
    await using desk = await openWarmDesk({ tools: { core: { asking } } });
    const { runId, pendingToolCalls = [] } = waitingOf(await desk.exec("return await tools.asking({})"));
    const callId = pendingToolCalls[0]?.id ?? "";
    expect(pendingToolCalls[0]?.asks).toBe("well?");
    // A host in plain JavaScript might do this.
    for (const wrong of ["yes", null, { resolution: 1n }, {}]) {
      expect(() => desk.run.resolve({ [callId]: wrong as unknown as { deny: string } })).toThrow(TypeError);
    }
    // If one decision is wrong, none is taken.
    expect(() => desk.run.resolve({ [callId]: { resolution: "no" }, "run:0": { resolution: 1 } })).toThrow(
      RangeError,
    );
    expect(waitingOf(await desk.wait(runId)).pendingToolCalls).toEqual(pendingToolCalls);
    desk.run.resolve({ [callId]: { resolution: "yes" } });
    expect(await desk.wait(runId)).toMatchObject({ status: "completed", value: "yes" });
  });
});

describe("a program that another process took from the store", () => {
  test("is not ended by the process that no longer has it", async () => {
    const store = createMemoryStore();
    await using here = await openWarmDesk({ hosting: { store } });
    await using there = await openWarmDesk({ hosting: { store } });
    const { runId } = waitingOf(await here.exec(YIELDS));
    const waited = there.wait(runId);
    await until(() => there.gate.open === 1);
    expect(await here.wait(runId)).toMatchObject({ status: "failed", code: "invalid_input" });
    there.gate.release("there");
    expect(await waited).toMatchObject({ status: "completed", value: "there" });
    expect(await here.wait(runId)).toMatchObject({ status: "failed", code: "invalid_input" });
    expect(here.runtime.suspendedPrograms).toBe(0);
    // It is gone here, and was restored there.
    const snapshots = { created: 1, restored: 0, expired: 0, dropped: 1 };
    expect(here.run.telemetry().snapshots).toEqual(snapshots);
    expect(there.run.telemetry().snapshots).toEqual({ ...snapshots, created: 0, restored: 1, dropped: 0 });
  });
});

describe("a program that is suspended with much output", () => {
  test("cannot be waited for before its output is made: two waits would share one budget", async () => {
    await using desk = await openWarmDesk({ config: { enabled: true, timeoutMs: 60_000 } });
    // Time that passes at each look, so that every second piece of work on the output gets a turn to itself.
    let now = performance.now();
    vi.spyOn(performance, "now").mockImplementation(() => (now += 5));
    onTestFinished(() => void vi.restoreAllMocks());
    let isAnswered = false;
    const exchange = desk
      .exec("for (let n = 0; n < 2000; n++) text('line ' + n); await yield_control(); return 1")
      .finally(() => {
        isAnswered = true;
      });
    while (desk.runtime.suspendedPrograms === 0) await nextTurn();
    expect({ isAnswered, suspended: desk.runtime.suspendedPrograms }).toEqual({
      isAnswered: true,
      suspended: 1,
    });
    expect(waitingOf(await exchange).output?.length).toBeGreaterThan(100);
  });
});

describe("expiry", () => {
  test("frees the memory of suspended programs by itself", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const heapMiB = (): number => {
      collect();
      return process.memoryUsage().heapUsed / 2 ** 20;
    };
    const noise = { execute: () => randomBytes(300_000).toString("hex") };
    const config = { enabled: true, timeoutMs: 60_000, snapshotTtlSeconds: 3 };
    const count = 30;
    await using desk = await openWarmDesk({ config, tools: { core: { noise } } });
    const before = heapMiB();
    // A busy machine may need longer than the programs last, so their time passes only when the test says so.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    await Promise.all(
      Array.from({ length: count }, () =>
        desk.exec("const kept = await tools.noise({}); await yield_control(); return kept"),
      ),
    );
    expect(desk.runtime.suspendedPrograms).toBe(count);
    const held = heapMiB() - before;
    expect(held).toBeGreaterThan(8);
    vi.advanceTimersByTime(3000);
    expect(desk.runtime.suspendedPrograms).toBe(0);
    vi.useRealTimers();
    // Each program is opened in turns to be discarded, and is in memory until then.
    await expect.poll(() => heapMiB() - before, { timeout: 60_000, interval: 50 }).toBeLessThan(held / 3);
  });

  test("gives nothing away to a wait of another scope at the same time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      await using desk = await openWarmDesk({ config: { enabled: true, snapshotTtlSeconds: 1 } });
      const context: AgentContext = { ...CONTEXT, sessionKey: "k2" };
      const other = desk.prepare({ context });
      const { runId } = waitingOf(await desk.exec(YIELDS));
      const early = other.wait({ runId });
      vi.advanceTimersByTime(1000);
      const late = other.wait({ runId });
      const [first, second] = await Promise.all([early, late]);
      expect(first).toMatchObject({ status: "failed", code: "invalid_input" });
      const error = first.status === "failed" ? first.error : "";
      expect(second).toMatchObject({ status: "failed", code: "invalid_input", error });
      expect(codeOf(await desk.wait(runId))).toBe("snapshot_expired");
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("the end of a run", () => {
  test("twice, and while a program is being suspended, leaves nothing", async () => {
    const store = createMemoryStore();
    const slow = Promise.withResolvers<void>();
    const releasing = Promise.withResolvers<void>();
    const watched = instead(store, {
      release: async (...given) => {
        releasing.resolve();
        await slow.promise;
        await store.release(...given);
      },
    });
    await using desk = await openWarmDesk({ hosting: { store: watched } });
    const executed = desk.exec("await yield_control()");
    await releasing.promise;
    const ended = Promise.all([desk.run.end(), desk.run.end()]);
    slow.resolve();
    await ended;
    expect(codeOf(await executed)).toBe("aborted");
    expect(desk.runtime.suspendedPrograms).toBe(0);
    // It is gone already: whoever ended the run may close the store now.
    expect(await store.list()).toEqual([]);
    expect(codeOf(await desk.exec("return 1"))).toBe("aborted");
  });

  test.each(["a run's end", "a shutdown"])("%s ends programs that execute", async (how) => {
    await using desk = await openWarmDesk();
    const { runId } = waitingOf(await desk.exec(YIELDS));
    const under = [
      desk.wait(runId),
      desk.exec("return await tools.gate({})"),
      desk.exec("for (;;) await null"),
    ];
    await until(() => desk.gate.open === 2);
    await (how === "a shutdown" ? desk.runtime[Symbol.asyncDispose]() : desk.run.end());
    expect((await Promise.all(under)).map(codeOf)).toEqual(["aborted", "aborted", "aborted"]);
    expect(desk.runtime.suspendedPrograms).toBe(0);
    expect(desk.gate.signals.every((signal) => signal.aborted)).toBe(true);
  });
});

describe("many suspended programs", () => {
  test("2,000 at once are kept, and all of them can be waited for", async () => {
    await using desk = await openWarmDesk({
      config: { enabled: true, timeoutMs: 60_000 },
      suspendedPrograms: 2000,
    });
    const source = (n: number): string => `const n = ${n}; await yield_control(); return n`;
    const numbers = Array.from({ length: 2000 }, (_, n) => n);
    const waiting = await Promise.all(numbers.map((n) => desk.exec(source(n))));
    expect(desk.runtime.suspendedPrograms).toBe(2000);
    expect(codeOf(await desk.exec("await yield_control()"))).toBe("invalid_input");
    const ended = await Promise.all(waiting.map((one) => desk.wait(waitingOf(one).runId)));
    expect(ended.map((one) => one.status === "completed" && one.value)).toEqual(numbers);
    expect(desk.runtime.suspendedPrograms).toBe(0);
  });
});
