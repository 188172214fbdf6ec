/**
 * A run is a function of its ledger.
 *
 * - Workers that die at any moment change no result and cause no second execution of a call.
 * - A ledger replays to the same result without any tool. An altered ledger is refused.
 */
import fc from "fast-check";
import { afterAll, expect, test, vi } from "vitest";
import { createHost, type Json, type Ledger, type LogLine, type RunResult } from "codecell";
import { effort, TIMES } from "./effort.ts";
import { type Finished, runToEnd } from "./finish.ts";
import { ProgramTools } from "./program-tools.ts";
import { anyProgram, stableProgram } from "./programs.ts";
import { killWorkers } from "./worker-threads.ts";

vi.setConfig({ testTimeout: 60_000 * TIMES });

const host = createHost({ workers: 1, limits: { wallTimeMs: 60_000 } });
afterAll(() => host[Symbol.asyncDispose]());

/** Programs that run side by side in one case. */
const SIDE_BY_SIDE = 6;

/** What must not depend on what happened to the workers and on how often the run was suspended. */
function content(result: RunResult, { logs } = result): { outcome: unknown; logs: readonly LogLine[] } {
  if (result.status === "completed") return { outcome: { value: result.value }, logs };
  return { outcome: result.status === "failed" ? { failure: result.failure } : "suspended", logs };
}

function contentOf({ result, logs }: Finished): ReturnType<typeof content> {
  return content(result, { ...result, logs });
}

test("runs survive the loss of their workers, with the same result and every call executed once", async () => {
  let disturbed = 0;
  let rebuilt = 0;
  let yielded = 0;
  const sources = fc.array(stableProgram, { minLength: SIDE_BY_SIDE, maxLength: SIDE_BY_SIDE });
  // A run tolerates two crashes of its worker, so the test causes no more.
  const kills = fc.uniqueArray(fc.nat(30), { minLength: 1, maxLength: 2 });
  await fc.assert(
    fc.asyncProperty(sources, kills, async (programs, killAt) => {
      const calm = new ProgramTools();
      const expected = await Promise.all(programs.map((source) => runToEnd(host, source, calm.set)));
      const stormy = new ProgramTools((count) => {
        if (killAt.includes(count)) killWorkers();
      });
      const ended = programs.map((source) => runToEnd(host, source, stormy.set));
      // Also before the first call.
      if (killAt.includes(0)) setImmediate(killWorkers);
      const found = await Promise.all(ended);
      expect(found.map(contentOf)).toEqual(expected.map(contentOf));
      expect(stormy.repeated).toEqual([]);
      expect(stormy.executions.size).toBe(calm.executions.size);
      disturbed += found.length;
      rebuilt += found.filter(({ rebuilds }) => rebuilds > 0).length;
      yielded += found.filter(({ suspensions }) => suspensions > 0).length;
    }),
    effort(12),
  );
  expect(rebuilt).toBeGreaterThan(disturbed / 4);
  expect(yielded).toBeGreaterThan(disturbed / 8);
});

test("a ledger replays to the same value, failure and logs without any tool", async () => {
  const sources = fc.array(anyProgram, { minLength: SIDE_BY_SIDE, maxLength: SIDE_BY_SIDE });
  await fc.assert(
    fc.asyncProperty(sources, async (programs) => {
      const tools = new ProgramTools();
      await Promise.all(
        programs.map(async (source) => {
          const ended = await runToEnd(host, source, tools.set);
          const { handle } = ended;
          const ledger = JSON.parse(JSON.stringify(handle.ledger())) as Ledger;
          const executed = tools.executions.size;
          const again = host.replay(ledger);
          expect(content(await again.result)).toEqual(contentOf(ended));
          expect(again.ledger()).toEqual(ledger);
          // A replay of the replay gives the same again.
          expect(content(await host.replay(again.ledger()).result)).toEqual(contentOf(ended));
          expect(tools.executions.size).toBeGreaterThanOrEqual(executed);
        }),
      );
      expect(tools.repeated).toEqual([]);
    }),
    effort(14),
  );
});

test("a replay survives the loss of its worker", async () => {
  await fc.assert(
    fc.asyncProperty(anyProgram, async (source) => {
      const ended = await runToEnd(host, source, new ProgramTools().set);
      const again = host.replay(ended.handle.ledger()).result;
      setImmediate(killWorkers);
      expect(content(await again)).toEqual(contentOf(ended));
    }),
    effort(8),
  );
});

test("a run that was stopped at any moment replays to the same failure", async () => {
  const source =
    "for (let i = 0; i < 3; i++) await tools.turn({ v: i }); return await tools.wait({ v: 9, ms: 3 })";
  for (let stopAt = 0; stopAt < 5; stopAt++) {
    const abort = new AbortController();
    const stop = (): void => abort.abort(new Error("enough"));
    // The run is stopped while the guest works on what it got, or before it got anything.
    const tools = new ProgramTools((count) => {
      if (count === stopAt) setImmediate(() => process.nextTick(stop));
    });
    const handle = host.start({ source, tools: tools.set, signal: abort.signal });
    if (stopAt === 0) process.nextTick(stop);
    const result = await handle.result;
    expect(content(await host.replay(handle.ledger()).result)).toEqual(content(result));
  }
});

type Alteration = (ledger: Ledger, at: number) => Ledger | undefined;

const ALTERATIONS: Readonly<Record<string, Alteration>> = {
  "another input": (ledger, at) => withCall(ledger, at, { input: '{"v":"altered"}' }),
  "another tool": (ledger, at) => withCall(ledger, at, { tool: "altered" }),
  "another source": (ledger) => ({
    ...ledger,
    source: `await tools.now({ v: "altered" });\n${ledger.source}`,
  }),
  "a source that calls nothing": (ledger) =>
    ledger.calls.length === 0 ? undefined : { ...ledger, source: "await new Promise(() => {});" },
  "a source that returns at once": (ledger) =>
    ledger.calls.length === 0 ? undefined : { ...ledger, source: "return 1" },
};

function withCall(ledger: Ledger, at: number, change: Partial<Ledger["calls"][number]>): Ledger | undefined {
  if (ledger.calls.length === 0) return undefined;
  const index = at % ledger.calls.length;
  return { ...ledger, calls: ledger.calls.map((one, i) => (i === index ? { ...one, ...change } : one)) };
}

test("an altered ledger is refused as diverged", async () => {
  await fc.assert(
    fc.asyncProperty(stableProgram, fc.nat(), async (source, at) => {
      const { result: original, handle } = await runToEnd(host, source, new ProgramTools().set);
      expect(original.status).toBe("completed");
      for (const [name, alter] of Object.entries(ALTERATIONS)) {
        const altered = alter(handle.ledger(), at);
        if (altered === undefined) continue;
        const result = await host.replay(altered).result;
        expect(result, name).toMatchObject({ status: "failed", failure: { code: "replay_diverged" } });
      }
    }),
    effort(15),
  );
});

test("a ledger that lacks, repeats or garbles deliveries never hangs or harms the host", async () => {
  const change = fc.record({ at: fc.nat(), how: fc.constantFrom("cut", "drop", "repeat", "swap", "garble") });
  await fc.assert(
    fc.asyncProperty(stableProgram, change, async (source, { at, how }) => {
      const { handle } = await runToEnd(host, source, new ProgramTools().set);
      const ledger = handle.ledger();
      const deliveries = [...ledger.deliveries];
      const index = deliveries.length === 0 ? 0 : at % deliveries.length;
      const chosen = deliveries[index];
      if (chosen === undefined) return;
      if (how === "cut") deliveries.length = index;
      else if (how === "drop") deliveries.splice(index, 1);
      else if (how === "repeat") deliveries.splice(index, 0, chosen);
      else if (how === "swap") deliveries.push(...deliveries.splice(index, 1));
      else {
        deliveries[index] = {
          ...chosen,
          items: chosen.items.map((item) =>
            item.kind === "output" ? { kind: "output", call: item.call, output: "{not json" } : item,
          ),
        };
      }
      const result = await host.replay({ ...ledger, deliveries }).result;
      expect(["completed", "failed"]).toContain(result.status);
      if (result.status === "failed") expect(result.failure.code).not.toBe("timeout");
      const next = await host.start({ source: "return 42" }).result;
      expect(next).toMatchObject({ status: "completed", value: 42 satisfies Json });
    }),
    effort(25),
  );
});
