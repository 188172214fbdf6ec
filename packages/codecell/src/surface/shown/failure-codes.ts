/**
 * Runs on the host. Converts failures of runs to codes and errors of exec and wait. No other file knows both
 * vocabularies.
 *
 * - It is total: the compiler complains when a code is added.
 * - `error` is one line of at most 2,000 characters: what went wrong, where, what to do next. It is made only from
 *   the failure's message, which has no stacks and causes. Parts that look like a stack, which a tool or program put
 *   into its own message, are removed.
 */
import { cutShort } from "../../contract/cut-short.ts";
import type { Failure, FailureCode } from "../../contract/failure.ts";
import { BEHIND_CALLS } from "../../contract/features.ts";
import type { Language } from "../../contract/ledger.ts";
import type { CodeModeErrorCode } from "./code-mode-result.ts";
import { looksLikeShell } from "../looks-like-shell.ts";

/** The code of a syntax error depends on the language. */
const CODES: Readonly<Record<Exclude<FailureCode, "syntax_error">, CodeModeErrorCode>> = {
  module_denied: "module_access_denied",
  check_failed: "invalid_input",
  guest_error: "internal_error",
  tool_failed: "nested_tool_failed",
  detached_call: "internal_error",
  deadlock: "internal_error",
  source_limit: "invalid_input",
  timeout: "timeout",
  memory_limit: "memory_limit_exceeded",
  result_limit: "output_limit_exceeded",
  call_limit: "too_many_pending_tool_calls",
  aborted: "aborted",
  too_many_runs: "runtime_unavailable",
  unavailable: "runtime_unavailable",
  replay_diverged: "snapshot_restore_failed",
  token_invalid: "snapshot_restore_failed",
  token_version: "snapshot_restore_failed",
  token_key: "snapshot_restore_failed",
  token_scope: "snapshot_restore_failed",
  token_expired: "snapshot_expired",
  token_used: "snapshot_restore_failed",
  suspension_limit: "snapshot_limit_exceeded",
  run_held: "invalid_input",
  run_unknown: "invalid_input",
  tool_missing: "runtime_unavailable",
  resume_invalid: "invalid_input",
  run_taken: "internal_error",
  store_failed: "internal_error",
  internal: "internal_error",
};

/** Names of the helpers in programs, by the names of their tools in a run. */
const HELPERS: readonly (readonly [tool: string, name: string])[] = [...BEHIND_CALLS.values()]
  .filter(({ name, shown }) => name !== shown)
  .map(({ name, shown }) => [name, shown]);

const LONGEST_ERROR = 2000;
/** Advice comes last, and is left out first. */
const MOST_ADVICE = 3;
const SHELL_HINT =
  'exec runs JavaScript, not shell commands or Python: find a tool for it with await tools.search("run a command") and call that';

/** What is known about the program that failed. */
export interface FailedProgram {
  readonly language: Language;
  readonly source: string;
  /** How many nested calls it had made. */
  readonly calls: number;
  /** The catalog's id of the tool whose failure ended the program. */
  readonly toolId?: string | undefined;
}

export interface ModelError {
  readonly code: CodeModeErrorCode;
  readonly error: string;
}

export function toModelError(failure: Failure, agentProgram: FailedProgram): ModelError {
  const isShell = mayBeShell(failure, agentProgram);
  const code = isShell ? "invalid_input" : toErrorCode(failure.code, agentProgram.language);
  return { code, error: toErrorText(failure, agentProgram.toolId, isShell) };
}

export function toErrorCode(code: FailureCode, language: Language): CodeModeErrorCode {
  if (code !== "syntax_error") return CODES[code];
  return language === "typescript" ? "typescript_transform_failed" : "invalid_input";
}

function toErrorText(failure: Failure, toolId: string | undefined, isShell: boolean): string {
  const helper = HELPERS.find(([tool]) => tool === toolId);
  const words = helper === undefined ? failure.message : inItsWords(failure.message, helper);
  const message = toLine(words) || "The program failed";
  const parts = [message];
  const { position } = failure;
  if (position !== undefined && !message.includes(`line ${position.line}`)) {
    parts.push(` (line ${position.line}, column ${position.column})`);
  }
  if (
    failure.code === "tool_failed" &&
    toolId !== undefined &&
    helper === undefined &&
    !message.includes(toolId)
  ) {
    parts.push(` [tool ${toLine(toolId)}]`);
  }
  if (isShell) parts.push(`; ${SHELL_HINT}`);
  for (const advice of (failure.advice ?? []).slice(0, MOST_ADVICE))
    parts.push(`; ${toLine(advice.message)}`);
  return bound(parts);
}

function inItsWords(message: string, [tool, name]: readonly [string, string]): string {
  return cut(message, 2 * LONGEST_ERROR).replaceAll(`Tool "${tool}"`, name);
}

/** A program that called tools was not a shell command, whatever it looks like. */
function mayBeShell({ code, error }: Failure, { source, calls }: FailedProgram): boolean {
  const isSuspect = code === "syntax_error" || (code === "guest_error" && error?.name === "ReferenceError");
  return isSuspect && calls === 0 && looksLikeShell(source);
}

/** Joins as many parts as fit. The first part is cut to what the others leave. */
function bound([message = "", ...rest]: readonly string[]): string {
  const others: string[] = [];
  let left = LONGEST_ERROR / 2;
  for (const part of rest) {
    if (part.length > left) continue;
    others.push(part);
    left -= part.length;
  }
  const end = others.join("");
  return `${cut(message, LONGEST_ERROR - end.length)}${end}`;
}

function cut(text: string, longest: number): string {
  return text.length <= longest ? text : cutShort(text, longest - 1);
}

/** The text on one line, without what looks like a stack. Reads a bounded part of the text. */
export function toLine(text: string): string {
  const lines: string[] = [];
  for (const line of cut(text, 2 * LONGEST_ERROR).split(LINE_ENDS)) {
    const trimmed = line.trim();
    if (trimmed !== "" && !isFrame(trimmed)) lines.push(trimmed.split(" ").map(withoutPlace).join(" "));
  }
  return lines.join(" ");
}

/**
 * Control characters are ends of lines too. The expression matches one character at a time, so it takes linear time.
 */
const LINE_ENDS = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** Whether a line is `at name (place)`, as engines write it. */
function isFrame(line: string): boolean {
  return line.startsWith("at ") && isPlace(line.slice(line.lastIndexOf(" ") + 1));
}

function withoutPlace(word: string): string {
  return isPlace(word) ? "<place>" : word;
}

/** Whether a word is a place of code on the host: a file's URL, or an absolute path or module with line and column. */
function isPlace(word: string): boolean {
  if (word.includes("file://") || word.includes("node:internal/")) return true;
  const [column = "", line = "", ...path] = trimBrackets(word).split(":").toReversed();
  const file = path.at(-1) ?? "";
  return (
    isNumber(column) &&
    isNumber(line) &&
    (file === "node" || path.some((one) => one.startsWith("/") || one.startsWith("\\")))
  );
}

function trimBrackets(word: string): string {
  const start = word.startsWith("(") ? 1 : 0;
  return word.endsWith(")") ? word.slice(start, -1) : word.slice(start);
}

function isNumber(text: string): boolean {
  return text !== "" && Number.isInteger(Number(text));
}
