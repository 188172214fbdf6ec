/** For tests of stored runs: terms that say nothing, and a run that is taken up again. */
import type { ToolSet } from "../packages/codecell/src/contract/tool.ts";
import type { Journal } from "../packages/codecell/src/durable/journal.ts";
import type { KeepingTerms, OpenRun, RunKeeping } from "../packages/codecell/src/durable/run-keeping.ts";
import type { RunPast } from "../packages/codecell/src/durable/run-past.ts";
import type { Failure } from "../packages/codecell/src/contract/failure.ts";
import type { StoredRuns } from "../packages/codecell/src/durable/stored-runs.ts";

export const TERMS: KeepingTerms = { scope: "", token: {}, errors: { tell: () => {}, end: () => {} } };

export interface TakenRun {
  readonly past: RunPast;
  readonly keeping: RunKeeping;
  readonly journal: Journal;
}

export function openRun(
  runs: StoredRuns,
  id: string,
  scope = "",
  tools: ToolSet = {},
): Promise<OpenRun | Failure> {
  return runs.open({ id, suspensionId: undefined }, scope, tools, TERMS.errors);
}

/** Throws where the run is refused. */
export async function takeRun(runs: StoredRuns, id: string, tools: ToolSet = {}): Promise<TakenRun> {
  const opened = await openRun(runs, id, "", tools);
  if ("code" in opened) throw new Error(opened.message);
  const keeping = opened.take(TERMS);
  if (keeping.journal === undefined) throw new Error("A stored run has a journal");
  return { past: opened.past, keeping, journal: keeping.journal };
}
