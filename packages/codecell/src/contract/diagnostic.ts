/**
 * Runs anywhere. Diagnostics are what the check before a run says about a program, in words for the model that wrote
 * it.
 */
import type { Position } from "./failure.ts";

/** Every code, with what it means. A code never changes its meaning. */
export const DIAGNOSTIC_CODES = {
  syntax_error: "The source is not a program the guest can run",
  module_denied: "The source uses import, export, import.meta or require",
  unknown_tool: "No tool has this name",
  unknown_method: "The handle has no method with this name",
  missing_argument: "A call leaves out what the tool requires",
  unknown_argument: "A call passes what the tool does not know",
  missing_await: "The promise of a call is used as if it were the call's output",
  type: "The TypeScript compiler disagrees with the types",
} as const;

export type DiagnosticCode = keyof typeof DIAGNOSTIC_CODES;

export interface Diagnostic {
  readonly code: DiagnosticCode;
  /** Says what is wrong, what was expected, and where. */
  readonly message: string;
  /** Place in the text that the model wrote; absent where the message is about the source as a whole. */
  readonly position?: Position;
}
