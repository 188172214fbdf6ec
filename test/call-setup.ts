/** A call as tests of the pipeline set it up: of run `r`, its first one, with nobody who listens and nothing in its way. */
import type { CallSetup } from "../packages/codecell/src/calls/invoke.ts";
import { resolveLimits } from "../packages/codecell/src/contract/limits.ts";

type Changes = Partial<Omit<CallSetup, "context">> &
  Pick<CallSetup, "tools"> & { readonly context?: Partial<CallSetup["context"]> };

const nothing = (): void => {};

export function toCallSetup({ context, ...changes }: Changes): CallSetup {
  return {
    features: {},
    index: 0,
    tool: "t",
    input: "{}",
    context: {
      runId: "r",
      callId: "r:0",
      idempotencyKey: "r:0",
      signal: new AbortController().signal,
      context: undefined,
      resolution: undefined,
      ...context,
    },
    limits: resolveLimits({}),
    middleware: [],
    deadline: { pause: nothing, resume: nothing },
    unlessHurried: (waiting) => waiting,
    judgeApart: () => Promise.resolve({ kind: "unknown" }),
    onStart: nothing,
    onProgress: nothing,
    onOutput: nothing,
    onError: nothing,
    ...changes,
  };
}
