/** Runs on the host. Problems say why a wait cannot go on with a program, and what to do next. */
import type { FailureCode } from "../../contract/failure.ts";
import type { ProgramEnd } from "../agent-program.ts";
import type { CodeModeErrorCode } from "./code-mode-result.ts";

export type Problem = readonly [code: CodeModeErrorCode, error: string];

/** Failures that leave a suspended run as it was, for a later wait. */
export const UNTOUCHED: ReadonlySet<FailureCode> = new Set([
  "too_many_runs",
  "run_held",
  "tool_missing",
  "resume_invalid",
  "store_failed",
]);
/** Failures of a resume that did nothing. */
export const REFUSED: ReadonlySet<FailureCode | undefined> = new Set<FailureCode>([
  ...UNTOUCHED,
  "run_unknown",
  "token_invalid",
  "token_version",
  "token_key",
  "token_scope",
  "token_expired",
  "token_used",
]);

export const INCOMPLETE: Problem = [
  "invalid_input",
  "The program cannot be continued: the agent's context lacks agentId, runId, sessionId or sessionKey",
];

export function unknownRun(runId: string): Problem {
  const shown = JSON.stringify(runId.slice(0, 64));
  return [
    "invalid_input",
    `There is no suspended program ${shown}: give wait the runId of a waiting result of this run, or start anew with exec`,
  ];
}

export function overOf(how: ProgramEnd, runId: string): Problem {
  const shown = JSON.stringify(runId.slice(0, 64));
  switch (how) {
    case "ended":
      return ["invalid_input", `Program ${shown} has ended and gave its result: start another one with exec`];
    case "snapshot_expired":
      return [how, `Program ${shown} was not waited for in time and is gone: start it anew with exec`];
    case "aborted":
      return [how, `Program ${shown} was aborted: start it anew with exec if it is still wanted`];
    default:
      return how satisfies never;
  }
}
