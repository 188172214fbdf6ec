/**
 * A run that is suspended at every call that allows it and at every yield, and resumed on this host or another, gives
 * what it gives undisturbed, and executes every call once.
 */
import fc from "fast-check";
import { afterAll, expect, test, vi } from "vitest";
import {
  type CallContext,
  createHost,
  type Host,
  type HostOptions,
  type LogLine,
  type RunResult,
  type ToolSet,
} from "codecell";
import { createMemoryStore, type Store } from "codecell/store";
import { effort, TIMES } from "./effort.ts";
import { runToEnd } from "./finish.ts";
import { ProgramTools } from "./program-tools.ts";
import { stableProgram } from "./programs.ts";
import { killWorkers } from "./worker-threads.ts";

vi.setConfig({ testTimeout: 60_000 * TIMES });

const sealKey = new Uint8Array(32).fill(7);
const limits = { wallTimeMs: 60_000 };
const memory = createMemoryStore();
let lastEntries = 0;
const store: Store = {
  ...memory,
  release: (claim, next) => {
    if (next !== undefined && "entry" in next) lastEntries++;
    return memory.release(claim, next);
  },
};
type Hosts = readonly [Host, Host];
const hostsOf = (options: HostOptions): Hosts => [createHost(options), createHost(options)];
const byToken = hostsOf({ workers: 1, sealKey, limits });
const byStore = hostsOf({ workers: 1, sealKey, limits, store });
afterAll(async () => {
  await Promise.all([...byToken, ...byStore].map((host) => host[Symbol.asyncDispose]()));
  await memory[Symbol.asyncDispose]();
});

const SUSPENDING: ReadonlySet<string> = new Set(["micro", "turn"]);

/** The same tools, but some ask first. */
function asking(tools: ToolSet): ToolSet {
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      if (!SUSPENDING.has(name)) return [name, tool];
      const execute = (input: unknown, call: CallContext): unknown =>
        call.resolution === undefined ? call.suspend({ asks: name }) : tool.execute(input, call);
      return [name, { ...tool, execute }];
    }),
  );
}

interface Journey {
  readonly result: RunResult;
  /** Log lines of all passes; each pass has its own. */
  readonly logs: readonly LogLine[];
  readonly suspensions: number;
  /** How many suspensions were for yields and calls at once. */
  readonly mixed: number;
}

/** Resumes until the run ends. Answers all pending calls, or only the first. */
async function travel(
  hosts: Hosts,
  source: string,
  tools: ToolSet,
  plan: readonly Exchange[],
): Promise<Journey> {
  let result = await hosts[0].start({ source, tools, mayYield: true }).result;
  const logs = [...result.logs];
  let suspensions = 0;
  let mixed = 0;
  while (result.status === "suspended") {
    const { away, partly, kill } = plan[suspensions % plan.length] ?? {
      away: false,
      partly: false,
      kill: false,
    };
    suspensions++;
    const { token, pending, yielded } = result.suspension;
    if (pending.length > 0 && yielded.length > 0) mixed++;
    const answered = partly ? pending.slice(0, 1) : pending;
    const resolutions = Object.fromEntries(answered.map(({ callId }) => [callId, { resolution: true }]));
    const handle = hosts[away ? 1 : 0].resume({ token, tools, resolutions });
    // The two tolerated crashes are counted per resumption.
    if (kill) setImmediate(killWorkers);
    result = await handle.result;
    logs.push(...result.logs);
  }
  return { result, logs, suspensions, mixed };
}

interface Exchange {
  readonly away: boolean;
  readonly partly: boolean;
  readonly kill: boolean;
}

const exchange = fc.record({
  away: fc.boolean(),
  partly: fc.boolean(),
  kill: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
});

/** Large enough for a snapshot to pay. */
const LARGE = `await tools.now({ v: "x".repeat(17_000) });\n`;

test.each([
  ["into tokens", byToken, ""],
  ["into a store", byStore, ""],
  ["by a last entry", byStore, LARGE],
])(
  "a run suspended at every chance %s gives the same result and executes every call once",
  async (_, hosts, prologue) => {
    let suspended = 0;
    let both = 0;
    lastEntries = 0;
    await fc.assert(
      fc.asyncProperty(
        stableProgram,
        fc.array(exchange, { minLength: 1, maxLength: 4 }),
        async (text, plan) => {
          const source = prologue + text;
          const calm = new ProgramTools();
          const expected = await runToEnd(byToken[0], source, calm.set);
          const asked = new ProgramTools();
          const { result, logs, suspensions, mixed } = await travel(hosts, source, asking(asked.set), plan);
          if (result.status !== "completed" || expected.result.status !== "completed")
            throw new Error(JSON.stringify([result, expected.result]));
          expect(result.value).toEqual(expected.result.value);
          expect(logs).toEqual(expected.logs);
          expect(asked.repeated).toEqual([]);
          expect(asked.executions.size).toBe(calm.executions.size);
          suspended += Math.min(1, suspensions);
          both += mixed;
        },
      ),
      effort(40),
    );
    expect(suspended).toBeGreaterThan(15);
    expect(both).toBeGreaterThan(0);
    if (prologue !== "") expect(lastEntries).toBeGreaterThan(suspended);
  },
);

test("exactly one of two resumptions of one token goes on", async () => {
  const tools = asking(new ProgramTools().set);
  const first = await byToken[0].start({ source: "return (await tools.turn({ v: 5 })).v", tools }).result;
  expect(first.status).toBe("suspended");
  if (first.status !== "suspended") return;
  const { token, pending } = first.suspension;
  const resolutions = Object.fromEntries(pending.map(({ callId }) => [callId, { resolution: true }]));
  const results = await Promise.all(
    [1, 2, 3].map(() => byToken[0].resume({ token, tools, resolutions }).result),
  );
  expect(results.filter(({ status }) => status === "completed")).toHaveLength(1);
  for (const result of results) {
    if (result.status !== "completed") expect(result).toMatchObject({ failure: { code: "token_used" } });
  }
});
