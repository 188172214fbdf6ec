/** Suspended programs that end without a wait leave nothing behind. */
import { createMemoryStore, type Store } from "codecell/store";
import type { AgentContext, CodeModeResult } from "codecell/surface";
import { describe, expect, test, vi } from "vitest";
import { instead } from "../api/store-doubles.ts";
import { CONTEXT, type Desk, openDesk, openWarmDesk, until, waitingOf } from "./fixtures.ts";
import { startStopwatch } from "../processor-time.ts";

const SOON = { enabled: true, timeoutMs: 200 };
const BRIEF = { ...SOON, snapshotTtlSeconds: 1 };
const GATED = "text('begun'); return await tools.gate({})";

function aborted(signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) throw new Error("No call was made");
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function codeOf(result: CodeModeResult): string {
  return result.status === "failed" ? result.code : result.status;
}

/** Nothing is suspended, and no tool of the desk is still called. */
async function expectNothingLeft(desk: Desk): Promise<void> {
  expect(desk.runtime.suspendedPrograms).toBe(0);
  expect(desk.gate.signals.every((signal) => signal.aborted)).toBe(true);
  expect((await desk.run.trajectory()).calls.filter(({ status }) => status === "running")).toEqual([]);
}

describe("a program that nobody waits for", () => {
  test("[exec-wait:80] expires by itself, without another exchange: its call is aborted and its place is free", async () => {
    await using desk = await openWarmDesk({ config: BRIEF });
    const { runId } = waitingOf(await desk.exec(GATED));
    expect(desk.runtime.suspendedPrograms).toBe(1);
    await aborted(desk.gate.signals[0]);
    await expectNothingLeft(desk);
    expect(desk.run.telemetry().snapshots).toMatchObject({ created: 1, expired: 1 });
    const late = await desk.wait(runId);
    expect(late).toMatchObject({ status: "failed", code: "snapshot_expired" });
    expect(late.status === "failed" && late.error).toMatch(/exec/u);
    expect((await desk.run.trajectory()).calls).toMatchObject([{ status: "aborted" }]);
  });

  test("[exec-wait:80] is gone from its store as well", async () => {
    await using store = createMemoryStore();
    const gone = Promise.withResolvers<void>();
    const watched = instead(store, { delete: (claim) => store.delete(claim).finally(gone.resolve) });
    await using desk = openDesk({ config: BRIEF, hosting: { store: watched } });
    const { runId } = waitingOf(await desk.exec("await yield_control()"));
    expect(await store.list()).toHaveLength(1);
    await gone.promise;
    expect(await store.list()).toEqual([]);
    expect(codeOf(await desk.wait(runId))).toBe("snapshot_expired");
  });

  test("[exec-wait:80] does not expire while a wait executes it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      await using desk = await openWarmDesk({
        config: { enabled: true, timeoutMs: 60_000, snapshotTtlSeconds: 1 },
      });
      const { runId } = waitingOf(await desk.exec("await yield_control(); return await tools.gate({})"));
      const waited = desk.wait(runId);
      await until(() => desk.gate.open === 1);
      vi.advanceTimersByTime(5000);
      expect(desk.gate.signals[0]?.aborted).toBe(false);
      desk.gate.release("in time");
      expect(await waited).toMatchObject({ status: "completed", value: "in time" });
      expect(desk.run.telemetry().snapshots.expired).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("abort", () => {
  test("[exec-wait:81] while a program is suspended: it is dropped, and its call is aborted", async () => {
    const controller = new AbortController();
    await using desk = await openWarmDesk({
      config: SOON,
      context: { ...CONTEXT, abortSignal: controller.signal },
    });
    const { runId } = waitingOf(await desk.exec(GATED));
    controller.abort();
    await expectNothingLeft(desk);
    expect(desk.run.telemetry().snapshots).toMatchObject({ created: 1, dropped: 1 });
    expect(await desk.wait(runId)).toMatchObject({ status: "failed", code: "aborted" });
    expect(codeOf(await desk.exec("return 1"))).toBe("aborted");
  });

  test.each(["of the run", "of the tool call"])(
    "[exec-wait:81] %s during exec ends it promptly",
    async (whose) => {
      const [run, call] = [new AbortController(), new AbortController()];
      await using desk = await openWarmDesk({ context: { ...CONTEXT, abortSignal: run.signal } });
      const executed = desk.run.exec({ code: GATED }, { abortSignal: call.signal });
      await until(() => desk.gate.open === 1);
      const elapsedMs = startStopwatch();
      (whose === "of the run" ? run : call).abort();
      expect(await executed).toMatchObject({
        status: "failed",
        code: "aborted",
        output: [{ type: "text", text: "begun" }],
      });
      expect(elapsedMs()).toBeLessThan(500);
      await expectNothingLeft(desk);
    },
  );

  test.each(["of the run", "of the tool call"])(
    "[exec-wait:81] %s during wait ends it promptly",
    async (whose) => {
      const [run, call] = [new AbortController(), new AbortController()];
      await using desk = await openWarmDesk({ context: { ...CONTEXT, abortSignal: run.signal } });
      const { runId } = waitingOf(await desk.exec("await yield_control(); return await tools.gate({})"));
      const waited = desk.run.wait({ runId }, { abortSignal: call.signal });
      await until(() => desk.gate.open === 1);
      const elapsedMs = startStopwatch();
      (whose === "of the run" ? run : call).abort();
      expect(codeOf(await waited)).toBe("aborted");
      expect(elapsedMs()).toBeLessThan(500);
      await expectNothingLeft(desk);
      expect(codeOf(await desk.wait(runId))).toBe("aborted");
    },
  );

  test.each(["of the run", "of the tool call"])(
    "%s at the moment of suspension leaves nothing",
    async (whose) => {
      const [run, call] = [new AbortController(), new AbortController()];
      const store = createMemoryStore();
      const gone = Promise.withResolvers<void>();
      const abort = (): void => (whose === "of the run" ? run : call).abort();
      const watched = instead(store, {
        release: (...given) => store.release(...given).finally(abort),
        delete: (claim) => store.delete(claim).finally(gone.resolve),
      });
      await using desk = openDesk({
        context: { ...CONTEXT, abortSignal: run.signal },
        hosting: { store: watched },
      });
      const executed = desk.run.exec({ code: "await yield_control()" }, { abortSignal: call.signal });
      expect(codeOf(await executed)).toBe("aborted");
      await expectNothingLeft(desk);
      await gone.promise;
      expect(await store.list()).toEqual([]);
    },
  );
});

describe("scope", () => {
  const FIELDS = ["agentId", "runId", "sessionId", "sessionKey"] as const;
  const foreign = FIELDS.flatMap((field): [string, AgentContext][] => {
    const { [field]: _left, ...rest } = CONTEXT;
    return [
      [`another ${field}`, { ...CONTEXT, [field]: "other" }],
      [`an empty ${field}`, { ...CONTEXT, [field]: "" }],
      // A host that does not know the field leaves it out.
      [`no ${field}`, rest as unknown as AgentContext],
    ];
  });

  test.each(foreign)(
    "[exec-wait:82] with %s nobody can continue a program, but its owner can",
    async (_, context) => {
      for (const hosting of [{}, { store: createMemoryStore() }]) {
        await using desk = await openWarmDesk({ config: SOON, hosting });
        const other = desk.prepare({ context });
        const { runId } = waitingOf(await desk.exec("await yield_control(); return 'mine'"));
        const refused = await other.wait({ runId });
        expect(refused).toMatchObject({ status: "failed", code: "invalid_input" });
        // The other scope does not even learn that the program exists.
        expect(refused.output).toBeUndefined();
        await other.end();
        expect(desk.runtime.suspendedPrograms).toBe(1);
        expect(await desk.wait(runId)).toMatchObject({ status: "completed", value: "mine" });
      }
    },
  );

  test("[exec-wait:82] a run without a complete scope cannot suspend anything", async () => {
    const { sessionKey: _left, ...rest } = CONTEXT;
    await using desk = await openWarmDesk({ config: SOON, context: rest as unknown as AgentContext });
    expect(await desk.exec(GATED)).toMatchObject({
      status: "failed",
      code: "invalid_input",
      error: expect.stringContaining("sessionKey") as string,
      output: [{ type: "text", text: "begun" }],
    });
    await expectNothingLeft(desk);
  });

  test("[exec-wait:82] parts of a scope are not simply joined", async () => {
    await using desk = await openWarmDesk({
      config: SOON,
      context: { ...CONTEXT, agentId: "a", runId: "bc" },
    });
    const other = desk.prepare({ context: { ...CONTEXT, agentId: "ab", runId: "c" } });
    const { runId } = waitingOf(await desk.exec("await yield_control()"));
    expect(codeOf(await other.wait({ runId }))).toBe("invalid_input");
  });
});

describe("two waits", () => {
  test("[exec-wait:83] at once: one wins, the other fails, and afterwards the id has ended", async () => {
    await using desk = await openWarmDesk({ config: { enabled: true, timeoutMs: 5000 } });
    const { runId } = waitingOf(await desk.exec("await yield_control(); return await tools.gate({})"));
    const [first, second] = [desk.wait(runId), desk.wait(runId)];
    expect(await second).toMatchObject({
      status: "failed",
      code: "invalid_input",
      error: expect.stringContaining("under way") as string,
    });
    await until(() => desk.gate.open === 1);
    desk.gate.release("won");
    expect(await first).toMatchObject({ status: "completed", value: "won" });
    expect(desk.gate.made).toBe(1);
    expect(await desk.wait(runId)).toMatchObject({
      status: "failed",
      code: "invalid_input",
      error: expect.stringContaining("has ended") as string,
    });
  });
});

describe("the size of a suspended program", () => {
  // A suspended program is its ledger: its source and what it was given. A snapshot of its memory is added only if it
  // fits and makes going on cheaper. So what a program was given can exceed the limit, but not what it holds.
  const config = { ...SOON, maxSnapshotBytes: 64 * 1024 };

  test("[exec-wait:84] over its limit fails the program, and none of its calls goes on", async () => {
    await using desk = await openWarmDesk({ config });
    const result = await desk.exec(
      "const kept = await tools.big({ n: 100000 }); text(kept.length); return await Promise.all([tools.gate({ n: 1 }), tools.gate({ n: 2 })])",
    );
    expect(result).toMatchObject({
      status: "failed",
      code: "snapshot_limit_exceeded",
      error: expect.stringContaining("65536") as string,
      output: [{ type: "text", text: "100000" }],
    });
    expect(desk.gate.made).toBe(2);
    await expectNothingLeft(desk);
    expect((await desk.run.trajectory()).calls.map(({ status }) => status)).toEqual([
      "completed",
      "aborted",
      "aborted",
    ]);
  });

  test("[exec-wait:84] over its limit fails a wait too", async () => {
    await using desk = await openWarmDesk({ config });
    const { runId } = waitingOf(
      await desk.exec("await yield_control(); await tools.big({ n: 100000 }); return await tools.gate({})"),
    );
    expect(codeOf(await desk.wait(runId))).toBe("snapshot_limit_exceeded");
    await expectNothingLeft(desk);
    expect(codeOf(await desk.wait(runId))).toBe("invalid_input");
  });

  test("does not include what the program made by itself", async () => {
    await using desk = await openWarmDesk({ config });
    const { runId } = waitingOf(
      await desk.exec(
        "const held = Array.from({ length: 50_000 }, (_, n) => ({ n })); await yield_control(); return held.length",
      ),
    );
    expect(await desk.wait(runId)).toMatchObject({ status: "completed", value: 50_000 });
  });
});

describe("damaged bytes", () => {
  /** Alters what the store gives of a run from now on. */
  function damaging(
    store: Store,
    part: (run: { state: Uint8Array; journal: readonly Uint8Array[] }) => Uint8Array | undefined,
  ) {
    let isDamaged = false;
    const claim: Store["claim"] = async (...given) => {
      const claimed = await store.claim(...given);
      const bytes = isDamaged && claimed.status === "claimed" ? part(claimed.run) : undefined;
      if (bytes !== undefined) bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
      return claimed;
    };
    return { store: instead(store, { claim }), damage: () => (isDamaged = true) };
  }

  test("[exec-wait:85] of a stored program fail with snapshot_restore_failed", async () => {
    const { store, damage } = damaging(createMemoryStore(), ({ state }) => state);
    await using desk = await openWarmDesk({ config: SOON, hosting: { store } });
    const { runId } = waitingOf(await desk.exec("await yield_control(); return await tools.echo({})"));
    damage();
    expect(codeOf(await desk.wait(runId))).toBe("snapshot_restore_failed");
    expect(desk.told).toEqual([]);
    await expectNothingLeft(desk);
  });

  test("[exec-wait:85] of a token fail with snapshot_restore_failed", async () => {
    await using desk = await openWarmDesk({ config: SOON });
    const { runId } = waitingOf(await desk.exec(GATED));
    const resume = desk.host.resume.bind(desk.host);
    vi.spyOn(desk.host, "resume").mockImplementation(({ token = "", ...options }) => {
      const at = token.length >> 1;
      const altered = `${token.slice(0, at)}${token[at] === "A" ? "B" : "A"}${token.slice(at + 1)}`;
      return resume({ ...options, token: altered });
    });
    expect(codeOf(await desk.wait(runId))).toBe("snapshot_restore_failed");
    await expectNothingLeft(desk);
  });
});

describe("the number of suspended programs", () => {
  const YIELDS = "await yield_control(); return 1";

  test("[exec-wait:86] is bounded: one more fails clearly, and its call is aborted", async () => {
    await using desk = await openWarmDesk({ config: SOON, suspendedPrograms: 2 });
    const held = [waitingOf(await desk.exec(YIELDS)), waitingOf(await desk.exec(YIELDS))];
    expect(await desk.exec(GATED)).toMatchObject({
      status: "failed",
      code: "invalid_input",
      error: expect.stringContaining("Too many programs are suspended") as string,
    });
    expect(desk.gate.signals[0]?.aborted).toBe(true);
    // The bound is for the process, not for one agent run.
    const other = desk.prepare({ context: { ...CONTEXT, runId: "r2" } });
    expect(codeOf(await other.exec({ code: YIELDS }))).toBe("invalid_input");
    expect(await other.exec({ code: "return 2" })).toMatchObject({ status: "completed" });
    // Programs that are held are not affected, and may be suspended again.
    for (const { runId } of held) expect(codeOf(await desk.wait(runId))).toBe("completed");
  });

  test("[exec-wait:86] goes down with completion, failure, abort and expiry", async () => {
    const controller = new AbortController();
    await using desk = await openWarmDesk({ config: BRIEF, suspendedPrograms: 1 });
    const full = async (): Promise<void> => {
      expect(desk.runtime.suspendedPrograms).toBe(1);
      expect(codeOf(await desk.exec(YIELDS))).toBe("invalid_input");
    };
    const first = waitingOf(await desk.exec(YIELDS));
    await full();
    expect(codeOf(await desk.wait(first.runId))).toBe("completed");

    const second = waitingOf(await desk.exec("await yield_control(); throw new Error('failed')"));
    await full();
    expect(codeOf(await desk.wait(second.runId))).toBe("internal_error");

    const abortable = desk.prepare({
      config: BRIEF,
      context: { ...CONTEXT, runId: "r2", abortSignal: controller.signal },
    });
    waitingOf(await abortable.exec({ code: YIELDS }));
    await full();
    controller.abort();

    waitingOf(await desk.exec(GATED));
    await full();
    await aborted(desk.gate.signals.at(-1));
    expect(desk.runtime.suspendedPrograms).toBe(0);
    waitingOf(await desk.exec(YIELDS));
  });
});

describe("the end", () => {
  test.each(["a run's end", "a shutdown"])("[exec-wait:87] %s drops all suspended programs", async (how) => {
    await using store = createMemoryStore();
    for (const hosting of [{}, { store }]) {
      await using desk = await openWarmDesk({ config: { enabled: true, timeoutMs: 500 }, hosting });
      const waiting = await Promise.all([desk.exec(GATED), desk.exec("await yield_control()")]);
      const { runId } = waitingOf(waiting[0]);
      expect(desk.runtime.suspendedPrograms).toBe(2);
      await (how === "a shutdown" ? desk.runtime[Symbol.asyncDispose]() : desk.run.end());
      // A call of a kept program goes on: its outcome is for whoever continues the program.
      const isKept = how === "a shutdown" && "store" in hosting;
      if (isKept) expect(desk.gate.signals[0]?.aborted).toBe(false);
      else await expectNothingLeft(desk);
      expect(desk.runtime.suspendedPrograms).toBe(0);
      expect(desk.run.telemetry().snapshots.dropped).toBe(2);
      expect(codeOf(await desk.wait(runId))).toBe("aborted");
    }
    // A program in a store should outlive the process, but not its agent run.
    expect(await store.list()).toHaveLength(how === "a shutdown" ? 2 : 0);
  });

  test("[exec-wait:87] of a run leaves other runs alone", async () => {
    await using desk = await openWarmDesk({ config: SOON });
    const other = desk.prepare({ context: { ...CONTEXT, runId: "r2" } });
    const { runId } = waitingOf(await other.exec({ code: "await yield_control(); return 'there'" }));
    waitingOf(await desk.exec(GATED));
    await desk.run.end();
    expect(desk.runtime.suspendedPrograms).toBe(1);
    expect(await other.wait({ runId })).toMatchObject({ status: "completed", value: "there" });
  });
});
