/**
 * One vocabulary: what else tells of a run is a fold over its events.
 *
 * - `events` has what `onEvent` heard, without the steps of calls, up to the run's end.
 * - The inspection of a ledger tells each call as its events did.
 * - A trajectory's records, and the counts of calls, are what the events of all its programs give.
 */
import fc from "fast-check";
import { afterAll, expect, test, vi } from "vitest";
import { createHost, type Host, type Json, type LiveEvent, type RunHandle } from "codecell";
import { inspect } from "codecell/ledger";
import { type AgentTools, type CodeModeResult, createAgentRuntime, type CallRecord } from "codecell/surface";
import { CATALOG_TOOLS } from "../../packages/codecell/src/contract/features.ts";
import { callStateAfter, type CallState } from "../../packages/codecell/src/contract/events.ts";
import { CONTEXT } from "../surface/fixtures.ts";
import { effort, TIMES } from "./effort.ts";
import { ProgramTools } from "./program-tools.ts";
import { anyProgram } from "./programs.ts";

vi.setConfig({ testTimeout: 60_000 * TIMES });

const host = createHost({ workers: 1, limits: { wallTimeMs: 60_000 } });
afterAll(() => host[Symbol.asyncDispose]());

const STEPS: ReadonlySet<string> = new Set(["call-decide", "call-rewrite", "call-execute", "call-ask"]);
const YIELD = "yield_control";

/** What the events of one call come to. */
interface FoldedCall {
  readonly tool: string;
  readonly index: number;
  state?: CallState;
  /** As the program wrote it, then as its schema made it, then as a hook did. */
  input: unknown;
  inputText?: string;
  isDecidedOn: boolean;
  isExecuted: boolean;
  end?: Extract<LiveEvent, { readonly type: "call-end" }>;
}

function fold(events: readonly LiveEvent[]): Map<string, FoldedCall> {
  const calls = new Map<string, FoldedCall>();
  for (const event of events) {
    if (!("callId" in event)) continue;
    const { callId, tool, index } = event;
    const call = calls.get(callId) ?? { tool, index, input: null, isDecidedOn: false, isExecuted: false };
    calls.set(callId, call);
    const state = callStateAfter(event);
    if (state !== undefined) call.state = state;
    // Nothing happens to a call that has ended.
    expect(call.end).toBeUndefined();
    if (event.type === "call-end") call.end = event;
    if (event.type === "call-execute") call.isExecuted = true;
    if (event.type === "call-start") call.inputText = event.inputText;
    // A call that waited comes again, with what was decided on then.
    const isNew = (event.type === "call-start" || event.type === "call-decide") && !call.isDecidedOn;
    if (isNew || event.type === "call-rewrite") call.input = event.input;
    if (event.type === "call-decide") call.isDecidedOn = true;
  }
  return calls;
}

/** As the stream keeps it: without steps, times and texts of inputs, and no later than the run's end. */
function keptOf(heard: readonly LiveEvent[]): unknown[] {
  const end = heard.findIndex(({ type }) => type === "run-end");
  return heard.slice(0, end + 1).flatMap((event): unknown[] => {
    if (STEPS.has(event.type)) return [];
    const { at: _at, inputText: _text, ...kept } = { inputText: "", ...event };
    return [kept];
  });
}

test("a run's stream and its ledger's inspection tell what its listener heard [events:one]", async () => {
  let [calls, failed, suspended] = [0, 0, 0];
  await fc.assert(
    fc.asyncProperty(anyProgram, async (source) => {
      const { set: tools } = new ProgramTools();
      const heard: LiveEvent[] = [];
      let token: string | undefined;
      let handle: RunHandle;
      do {
        const own: LiveEvent[] = [];
        const options = { tools, onEvent: (event: LiveEvent) => void own.push(event) };
        handle =
          token === undefined
            ? host.start({ ...options, source, mayYield: true })
            : host.resume({ ...options, token });
        const result = await handle.result;
        expect(await Array.fromAsync(handle.events)).toEqual(keptOf(own));
        token = result.status === "suspended" ? result.suspension.token : undefined;
        if (token !== undefined) suspended++;
        heard.push(...own);
      } while (token !== undefined);
      const folded = [...fold(heard).values()];
      for (const { index, tool, inputBytes, outcome } of inspect(handle.ledger()).calls) {
        calls++;
        const call = folded.find((one) => one.index === index);
        if (tool === YIELD) {
          expect(call).toBeUndefined();
          continue;
        }
        if (outcome.status === "open") continue;
        const { delivery: _delivery, ...told } = outcome;
        if (told.status === "failed") failed++;
        expect(call).toMatchObject({ tool, state: told.status });
        expect(Buffer.byteLength(call?.inputText ?? "")).toBe(inputBytes);
        // What a ledger holds says nothing of who was told to stop.
        const { isAborted: _isAborted, ...heardOf } = { isAborted: undefined, ...call?.end?.outcome };
        expect(heardOf).toEqual(told);
      }
    }),
    effort(40),
  );
  expect(calls).toBeGreaterThan(100);
  expect(failed).toBeGreaterThan(0);
  expect(suspended).toBeGreaterThan(0);
});

/** The same host, and all that the runs of it tell. */
function overhear(heard: LiveEvent[]): Host {
  const listening = <Options extends { readonly onEvent?: (event: LiveEvent) => void }>(
    options: Options,
  ): Options => ({
    ...options,
    onEvent: (event: LiveEvent) => {
      heard.push(event);
      options.onEvent?.(event);
    },
  });
  return {
    isDurable: host.isDurable,
    limits: host.limits,
    start: (options) => host.start(listening(options)),
    resume: (options) => host.resume(listening(options)),
    fork: (ledger, options) => host.fork(ledger, options),
    replay: (ledger) => host.replay(ledger),
    discard: (options) => host.discard(options),
    readEnded: (options) => host.readEnded(options),
    deleteEnded: (options) => host.deleteEnded(options),
    [Symbol.asyncDispose]: async () => {},
  };
}

const PROGRAMS = [
  "return Promise.allSettled([tools.a({ n: 1 }), tools.typed({ n: 2 }), tools.typed({}), tools.none({}), tools.asks({ n: 3 })])",
  "tools.slow({}); tools.boom({}).catch(() => 0); await tools.a({ n: 4 }); return 1",
  "for (let n = 0; n < 3; n++) { await tools.a({ n }); await yield_control() } return tools.search('a')",
  "return Promise.race([tools.slow({}), tools.a({ n: 5 }), tools.asks({}).catch(() => 0)])",
  "await tools.boom({}); return 2",
];

test("a trajectory's records and the counts of calls are what events give [events:one] [exec-wait:96]", async () => {
  const statuses = new Set<CallRecord["status"]>();
  const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));
  const tools: AgentTools = {
    core: {
      a: { execute: (input: unknown) => ({ given: input as Json }) },
      typed: { input: { type: "object", required: ["n"] }, execute: () => pause(5) },
      slow: { execute: () => pause(250) },
      boom: { execute: () => Promise.reject(new Error("boom")) },
      asks: { execute: (_input, { resolution, suspend }) => resolution ?? suspend("may I?") },
    },
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(PROGRAMS.length - 1), { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(5), { minLength: 1, maxLength: 8 }),
      async (programs, answers) => {
        let asked = 0;
        const answer = (): number => answers[asked++ % answers.length] ?? 0;
        const heard: LiveEvent[] = [];
        await using runtime = createAgentRuntime({ host: overhear(heard) });
        const agent = runtime.prepareAgentRun({
          config: { enabled: true, timeoutMs: 150 },
          tools,
          context: CONTEXT,
          beforeToolCall: () => ([undefined, { block: "no" }, { input: { n: 9 } }] as const)[answer() % 3],
          approve: ({ resolution }) =>
            resolution === undefined && answer() === 5 ? { suspend: "may I?" } : "allow",
        });
        for (const program of programs) {
          let result: CodeModeResult = await agent.exec({ code: PROGRAMS[program] });
          for (let waits = 0; waits < 4 && result.status === "waiting"; waits++) {
            for (const { id, asks } of result.pendingToolCalls ?? []) {
              if (asks === undefined || answer() === 0) continue;
              agent.resolve({ [id]: answer() === 1 ? { deny: "no" } : { resolution: "yes" } });
            }
            result = await agent.wait({ runId: result.runId });
          }
        }
        await agent.end();
        const folded = fold(heard);
        const { calls } = await agent.trajectory();
        for (const { callId, status, input, error, endedAt = "" } of calls) {
          statuses.add(status);
          const call = folded.get(callId);
          if (status === "aborted") {
            // Its program ended before it did, if it did at all.
            expect(call?.end?.at ?? Infinity).toBeGreaterThanOrEqual(Date.parse(endedAt));
            continue;
          }
          expect(call?.state).toBe(status);
          expect(input).toEqual(call?.input);
          const { outcome } = call?.end ?? {};
          expect(error).toEqual(outcome?.status === "failed" ? outcome.failure : undefined);
        }
        const isRecorded = new Set(calls.map(({ callId }) => callId));
        const executed = [...folded].filter(([, { isExecuted }]) => isExecuted);
        const counted = executed.filter(([callId]) => isRecorded.has(callId));
        expect(executed.filter(([callId]) => !isRecorded.has(callId)).map(([, { tool }]) => tool)).toEqual(
          Array.from({ length: executed.length - counted.length }, () => CATALOG_TOOLS.search),
        );
        expect(agent.telemetry().counts).toMatchObject({
          call: counted.length,
          search: executed.length - counted.length,
        });
      },
    ),
    effort(15),
  );
  expect([...statuses].toSorted()).toEqual(["aborted", "completed", "failed"]);
});
