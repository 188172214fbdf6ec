/**
 * Messages between the host and the check's thread.
 *
 * - The thread says once that it is `ready`, or `broken` and why; then it answers one `check` at a time.
 * - Before the answer it asks for the declarations of the tools that the program names, and, if some do not exist, of
 *   those most like them.
 */
import type { Diagnostic } from "../contract/diagnostic.ts";
import type { Failure } from "../contract/failure.ts";
import type { Language } from "../contract/ledger.ts";

export interface ThreadSetup {
  /** Packages or files to load the compiler from, the first that serves. */
  readonly typescript: readonly string[];
  /** Folders to resolve them from. */
  readonly from: readonly string[];
}

export interface CheckCommand {
  readonly kind: "check";
  readonly id: number;
  readonly source: string;
  readonly language: Language;
  /** Declarations of other globals than the guest always has. */
  readonly globals: string;
}

export interface DeclaredTool {
  readonly member: string;
  readonly types: string;
  readonly isClosed: boolean;
}

/** Of the tools a program names. */
export interface Declared {
  /** Undefined for names that are no tools. */
  readonly tools: ReadonlyMap<string, DeclaredTool | undefined>;
  /** All names there are, where some name is no tool's; otherwise none. */
  readonly names: readonly string[];
}

export interface DeclareCommand {
  readonly kind: "declare";
  readonly id: number;
  readonly declared: Declared;
}

export type ThreadCommand = CheckCommand | DeclareCommand;

/** What the check found. */
export interface Findings {
  /** Errors that stop the program. */
  readonly problems: readonly Diagnostic[];
  readonly advice: readonly Diagnostic[];
  /** Set when the source is no program at all; it is what the run would fail with. */
  readonly failure: Failure | undefined;
}

export type ThreadAnswer =
  | { readonly kind: "ready"; readonly version: string }
  | { readonly kind: "broken"; readonly reason: string }
  | { readonly kind: "wanted"; readonly id: number; readonly names: readonly string[] }
  | { readonly kind: "checked"; readonly id: number; readonly findings: Findings }
  | { readonly kind: "failed"; readonly id: number; readonly reason: string };
