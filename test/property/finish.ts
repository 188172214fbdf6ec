/** Runs programs that may yield to their end. */
import type { Host, LogLine, RunHandle, RunResult, ToolSet } from "codecell";

export interface Finished {
  readonly result: RunResult;
  /** Log lines of all passes; each pass has its own. */
  readonly logs: readonly LogLine[];
  readonly rebuilds: number;
  /** How often the run was suspended. */
  readonly suspensions: number;
  /** The handle of the last pass; its ledger has all passes. */
  readonly handle: RunHandle;
}

/** Starts a program, and resumes its run after every yield. */
export async function runToEnd(host: Host, source: string, tools: ToolSet): Promise<Finished> {
  let handle = host.start({ source, tools, mayYield: true });
  let result = await handle.result;
  const logs = [...result.logs];
  let { rebuilds } = result.stats;
  let suspensions = 0;
  while (result.status === "suspended") {
    suspensions++;
    handle = host.resume({ token: result.suspension.token, tools });
    result = await handle.result;
    logs.push(...result.logs);
    rebuilds += result.stats.rebuilds;
  }
  return { result, logs, rebuilds, suspensions, handle };
}
