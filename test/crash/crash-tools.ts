/** The tools of crash tests. Each execution is durably written down before it answers. */
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import type { AnyTool, CallContext, ToolSet } from "codecell";
import type { Execution, Report } from "./life.ts";

interface Input {
  readonly v?: unknown;
  readonly ms?: number;
  readonly program: number;
  readonly n: number;
  readonly report?: Report;
}

/** Longer than anything else that a program waits for; only losers of races take this long. */
const LATE_MS = 60;
/** Longer than a run waits for its other calls once one of them has asked. */
const LONG_MS = 1100;

/** Tools that may be called again. All others are called at most once. */
export const REPEATABLE: ReadonlySet<string> = new Set(["micro", "turn", "late", "fail", "report", "study"]);

/** What each tool does after it was written down. */
const ANSWERS: Readonly<Record<string, (input: Input) => unknown>> = {
  now: ({ v }) => ({ v }),
  wait: async ({ v, ms = 1 }) => (await delay(ms), { v }),
  micro: ({ v }) => Promise.resolve({ v }),
  turn: async ({ v }) => (await turn(), { v }),
  late: async ({ v }) => (await delay(LATE_MS), { v }),
  fail: () => {
    throw Object.assign(new Error("it failed"), { code: "E_TEST", name: "TestError" });
  },
  report: () => null,
  /** These tools go on when their run is suspended. */
  travel: async ({ v }) => (await delay(LONG_MS), { v }),
  study: async ({ v }) => (await delay(LONG_MS), { v }),
  /** Happens at most once, and only after an approval. */
  ask: ({ v }) => ({ v }),
};

export function crashTools(write: (execution: Execution) => void, step: () => void): ToolSet {
  const toTool = (tool: string, answer: (input: Input) => unknown): AnyTool => ({
    // Uses both ways to say that a call may be repeated.
    ...(REPEATABLE.has(tool) ? (tool === "micro" ? { readOnly: true } : { idempotent: true }) : {}),
    execute: async (input: Input, call: CallContext) => {
      if (tool === "ask" && call.resolution === undefined) call.suspend({ ask: input.v as number });
      step();
      const { program, n, report } = input;
      const said = report === undefined ? {} : { report };
      write({ tool, runId: call.runId, key: call.idempotencyKey, program, n, ...said });
      step();
      const output = await answer(input);
      step();
      return output;
    },
  });
  return Object.fromEntries(Object.entries(ANSWERS).map(([tool, answer]) => [tool, toTool(tool, answer)]));
}
