/**
 * exec and wait over a catalog: what one program costs, whatever the number of tools it does not use.
 *
 * - `exec` is a program of three calls, each with the output of the call before. `waiting` and `wait` are for a
 *   program that stops after one call and is continued. `token` is all that is kept of it meanwhile.
 * - Both cases are measured in turn in one process, and times are the tenth percentile: the cases are compared with
 *   each other, so a disturbance of the machine must not count for one of them only.
 * - The tools beside the three that are called are real, with their descriptions and schemas.
 */

import type { AnyTool, Host, JsonSchema, RunHandle } from "codecell";
import type { AgentTools, CodeModeResult } from "codecell/surface";
import { loadSet, SET_NAMES } from "../../test/tool-search/sets.ts";
import { Attempts, nextSalt } from "../harness/attempts.ts";
import { percentile } from "../harness/statistics.ts";
import { takeTools } from "./catalog-tools.ts";
import type { Case, Workload } from "./workload.ts";

export const FEW: Case = { label: "10 tools", size: 10 };
export const MANY: Case = { label: "5000 tools", size: 5000 };

const NAMES = ["step_one", "step_two", "step_three"] as const;
const OWNERS = 40;
const LEAST_RUNS = 20;

export const agentSurface: Workload = {
  name: "agent-surface",
  title: "exec and wait over a catalog",
  process: "shared",
  opens: true,
  only: ["codecell"],
  metrics: [
    { key: "exec", label: "three calls", better: "lower", unit: "ms" },
    { key: "waiting", label: "to waiting", better: "lower", unit: "ms" },
    { key: "wait", label: "wait", better: "lower", unit: "ms" },
    { key: "token", label: "suspended", better: "lower", unit: "KB" },
  ],
  cases: [FEW, MANY],
  rounds: 5,
  measure: async (_contestant, { size }, pace) => {
    const { createHost } = await import("codecell");
    const { createAgentRuntime } = await import("codecell/surface");
    await using host = createHost();
    let begun: RunHandle | undefined;
    const watched: Host = {
      isDurable: false,
      limits: {},
      start: (options) => (begun = host.start(options)),
      resume: (options) => host.resume(options),
      discard: (options) => host.discard(options),
      readEnded: (options) => host.readEnded(options),
      deleteEnded: (options) => host.deleteEnded(options),
      replay: (ledger) => host.replay(ledger),
      fork: (ledger, options) => host.fork(ledger, options),
      [Symbol.asyncDispose]: async () => {},
    };
    await using runtime = createAgentRuntime({ host: watched });
    const run = runtime.prepareAgentRun({ config: true, tools: createTools(size), context: CONTEXT });
    const attempts = new Attempts();
    const times = { exec: [] as number[], waiting: [] as number[], wait: [] as number[] };
    const tokens: number[] = [];

    const timed = async (
      into: number[] | undefined,
      exchange: Promise<CodeModeResult>,
    ): Promise<CodeModeResult> => {
      const from = performance.now();
      const result = await exchange;
      into?.push(performance.now() - from);
      return result;
    };
    const once = async (counts: boolean): Promise<void> => {
      const n = nextSalt();
      const into = counts ? times : undefined;
      await attempts.check(n + 3, async () => valueOf(await timed(into?.exec, run.exec({ code: THREE(n) }))));
      await attempts.check(n + 1, async () => {
        const waiting = await timed(into?.waiting, run.exec({ code: STOPS(n) }));
        const suspended = await begun?.result;
        if (counts && suspended?.status === "suspended")
          tokens.push(suspended.suspension.token.length / 1024);
        const runId = waiting.status === "waiting" ? waiting.runId : "";
        return valueOf(await timed(into?.wait, run.wait({ runId })));
      });
    };

    const warmUntil = performance.now() + pace.warmMs;
    while (performance.now() < warmUntil) await once(false);
    const until = performance.now() + pace.blockMs;
    for (let runs = 0; runs < LEAST_RUNS || (performance.now() < until && runs < pace.maxRuns); runs++) {
      await once(true);
    }
    const undisturbed = (values: readonly number[]): number => percentile(values, 0.1);
    return attempts.sample({
      exec: undisturbed(times.exec),
      waiting: undisturbed(times.waiting),
      wait: undisturbed(times.wait),
      token: percentile(tokens, 0.5),
    });
  },
};

const CONTEXT = { agentId: "bench", runId: "r", sessionId: "s", sessionKey: "k" };

const THREE = (n: number): string => `
const one = await tools.step_one({ n: ${n} });
const two = await tools.step_two(one);
return (await tools.step_three(two)).n`;

const STOPS = (n: number): string => `
const one = await tools.step_one({ n: ${n} });
await yield_control();
return one.n`;

function valueOf(result: CodeModeResult): unknown {
  return result.status === "completed" ? result.value : result;
}

function createTools(size: number): AgentTools {
  const core: Record<string, AnyTool> = {};
  for (const name of NAMES) {
    core[name] = { description: "Adds one", execute: ({ n }: { n: number }) => ({ n: n + 1 }) };
  }
  const mcp: Record<string, Record<string, AnyTool>> = {};
  for (const [at, tool] of takeTools(SET_NAMES.map(loadSet), size - NAMES.length).entries()) {
    const owned = (mcp[`server${at % OWNERS}`] ??= {});
    const name = Object.hasOwn(owned, tool.name) ? `${tool.name}_${at}` : tool.name;
    owned[name] = {
      description: tool.description,
      input: tool.inputSchema as JsonSchema,
      execute: () => null,
    };
  }
  return { core, mcp };
}
