/** The corpus' classes for our failure codes: one table, with reasons where they are not obvious. */
import type { Failure, FailureCode } from "codecell";
import type { AttackClass } from "./case.ts";

const CLASSES: Readonly<Record<FailureCode, AttackClass>> = {
  timeout: "timeout",
  memory_limit: "memory",
  syntax_error: "syntax",
  module_denied: "denied",
  check_failed: "syntax",
  guest_error: "guest_error",
  // An error that the program does not catch is the program's error, whoever threw it first.
  tool_failed: "guest_error",
  detached_call: "guest_error",
  deadlock: "deadlock",
  source_limit: "limit",
  result_limit: "limit",
  call_limit: "limit",
  suspension_limit: "limit",
  // No program may end with one of these, so they match no expectation.
  aborted: "host_fault",
  too_many_runs: "host_fault",
  unavailable: "host_fault",
  replay_diverged: "host_fault",
  token_invalid: "host_fault",
  token_version: "host_fault",
  token_key: "host_fault",
  token_scope: "host_fault",
  token_expired: "host_fault",
  token_used: "host_fault",
  run_held: "denied",
  run_unknown: "denied",
  tool_missing: "denied",
  resume_invalid: "denied",
  run_taken: "denied",
  store_failed: "host_fault",
  internal: "host_fault",
};

const STACK_MESSAGE = /Maximum call stack size exceeded|exhausted the engine's stack|recursed too deeply/;

export function classesOf(failure: Failure): AttackClass[] {
  const { code, error, details } = failure;
  if (code === "module_denied") {
    // Refused before it ran, with the error that an engine without modules would have thrown.
    if (error?.name === "ReferenceError") return ["denied", "guest_error"];
    if (error?.name === "SyntaxError") return ["denied", "syntax"];
  }
  if (code === "guest_error") {
    const isStack = error === undefined || error.name === "RangeError";
    if (isStack && STACK_MESSAGE.test(error?.message ?? failure.message)) return ["stack"];
  }
  const call = details?.["call"];
  if (code === "tool_failed" && typeof call === "object" && call !== null && "code" in call) {
    if (call.code === "denied") return ["denied"];
  }
  return [CLASSES[code]];
}
