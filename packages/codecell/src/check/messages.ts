/**
 * Messages between the host and the check's thread.
 *
 * - The thread says once that it is `ready`, or that it is `broken` and why. Then it answers one `check` at a time.
 * - Before the answer it asks for the declarations of the tools that the program names and, if some of these do not
 *   exist, of the tools with the most similar names.
 */
import type { Diagnostic } from "../contract/diagnostic.ts";
import type { Failure } from "../contract/failure.ts";
import type { Language } from "../contract/ledger.ts";

export interface ThreadSetup {
  /** Packages or files to load the compiler from; the first usable one is taken. */
  readonly typescript: readonly string[];
  /** Folders from which these are resolved. */
  readonly from: readonly string[];
}

export interface CheckCommand {
  readonly kind: "check";
  readonly id: number;
  readonly source: string;
  readonly language: Language;
  /** Declarations of globals beside those that every guest has. */
  readonly globals: string;
}

export interface DeclaredTool {
  readonly member: string;
  readonly types: string;
  readonly isClosed: boolean;
}

/** Declarations of the tools that a program names. */
export interface Declared {
  /** By name; undefined for names that are no tools. */
  readonly tools: ReadonlyMap<string, DeclaredTool | undefined>;
  /** Names of all tools if `tools` has a name that is not a tool; otherwise empty. */
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
  /** Errors because of which the program does not run. */
  readonly problems: readonly Diagnostic[];
  readonly advice: readonly Diagnostic[];
  /** Set when the source is not a program at all: the failure that a run of it would have. */
  readonly failure: Failure | undefined;
}

export type ThreadAnswer =
  | { readonly kind: "ready"; readonly version: string }
  | { readonly kind: "broken"; readonly reason: string }
  | { readonly kind: "wanted"; readonly id: number; readonly names: readonly string[] }
  | { readonly kind: "checked"; readonly id: number; readonly findings: Findings }
  | { readonly kind: "failed"; readonly id: number; readonly reason: string };
