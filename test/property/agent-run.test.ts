/**
 * Agent runs whose programs are suspended, aborted, denied and resolved at random moments. Whatever happens, every
 * snapshot and every record of a call has its end, and sequential tools never overlap.
 */
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { AgentTool, AgentTools, CodeModeResult, PreparedAgentRun } from "codecell/surface";
import { openDesk } from "../surface/fixtures.ts";
import { effort, TIMES } from "./effort.ts";

vi.setConfig({ testTimeout: 60_000 * TIMES });

const PROGRAMS = [
  "return Promise.allSettled([tools.a({}), tools.b({}), tools.slow({}), tools.stream({}), tools.asks({})])",
  "tools.slow({}); tools.boom({}); await tools.a({}); return 1",
  "for (let i = 0; i < 3; i++) { await tools.b({}); await yield_control() } return 2",
  "await tools.slow({}); for (;;);",
  "return (await Promise.allSettled(Array.from({ length: 20 }, () => tools.a({})))).length",
  "return Promise.race([tools.slow({}), tools.a({}), tools.asks({}).catch(() => 0)])",
];

/** What happens to one program. Numbers say when it is aborted, in milliseconds. */
const life = fc.record({
  program: fc.nat(PROGRAMS.length - 1),
  abortExec: fc.option(fc.nat(300), { freq: 4 }),
  waits: fc.array(
    fc.record({
      abort: fc.option(fc.nat(100), { freq: 8 }),
      decision: fc.constantFrom("resolve", "deny", "nothing"),
    }),
    { maxLength: 6 },
  ),
});

type Life = typeof life extends fc.Arbitrary<infer T> ? T : never;

const after = (ms: number | null): AbortSignal | undefined =>
  ms === null ? undefined : AbortSignal.timeout(ms);

async function live(run: PreparedAgentRun, { program, abortExec, waits }: Life): Promise<void> {
  let result: CodeModeResult = await run.exec({ code: PROGRAMS[program] }, { abortSignal: after(abortExec) });
  for (const { abort, decision } of waits) {
    if (result.status !== "waiting") return;
    const { runId, pendingToolCalls = [] } = result;
    for (const { id, asks } of pendingToolCalls) {
      if (asks === undefined || decision === "nothing") continue;
      run.resolve({ [id]: decision === "deny" ? { deny: "no" } : { resolution: "yes" } });
    }
    result = await run.wait({ runId }, { abortSignal: after(abort) });
  }
}

test("whatever happens to programs, they leave nothing behind [exec-wait:50] [exec-wait:93] [exec-wait:96]", async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): unknown => unhandled.push(reason);
  process.on("unhandledRejection", onUnhandled);
  await fc.assert(
    fc.asyncProperty(
      fc.array(life, { minLength: 4, maxLength: 8 }),
      fc.array(fc.nat(9), { minLength: 1 }),
      async (lives, answers) => {
        let [executing, most, asked] = [0, 0, 0];
        const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
          new Promise((resolve, reject) => {
            setTimeout(resolve, ms);
            signal?.addEventListener("abort", () => reject(new Error("stopped")));
          });
        const one: AgentTool = {
          sequential: true,
          execute: async (_input, { signal }) => {
            most = Math.max(most, ++executing);
            await pause(5, signal).finally(() => executing--);
            return executing;
          },
        };
        const tools: AgentTools = {
          core: {
            a: one,
            b: one,
            slow: { execute: () => pause(120) },
            boom: { execute: () => Promise.reject(new Error("boom")) },
            asks: { execute: (_input, { resolution, suspend }) => resolution ?? suspend("may I?") },
            stream: {
              execute: async function* () {
                for (const step of [1, 2, 3]) {
                  await pause(20);
                  yield step;
                }
              },
            },
          },
        };
        const answer = (): number => answers[asked++ % answers.length] ?? 0;
        await using desk = openDesk({
          tools,
          config: { enabled: true, timeoutMs: 150 },
          beforeToolCall: () => (answer() === 9 ? { block: "no" } : undefined),
          approve: ({ resolution }) =>
            resolution === undefined && answer() === 8 ? { suspend: "may I?" } : "allow",
        });
        await Promise.all(lives.map((each) => live(desk.run, each)));
        await desk.run.end();
        const { snapshots, counts } = desk.run.telemetry();
        expect(snapshots.created).toBe(snapshots.restored + snapshots.expired + snapshots.dropped);
        expect(counts.exec).toBe(lives.length);
        const { calls } = await desk.run.trajectory();
        expect(calls.filter(({ status }) => status === "running" || status === "waiting")).toEqual([]);
        expect(new Set(calls.map(({ callId }) => callId)).size).toBe(calls.length);
        expect(most).toBeLessThanOrEqual(1);
      },
    ),
    effort(6),
  );
  process.off("unhandledRejection", onUnhandled);
  expect(unhandled).toEqual([]);
});
