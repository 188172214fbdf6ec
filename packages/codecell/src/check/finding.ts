/**
 * Runs in the check's thread. A finding is a mistake at a node of the program, not yet placed in the model's own
 * text.
 */
import { cutShort } from "../contract/cut-short.ts";
import type ts from "@typescript/typescript6";
import type { DiagnosticCode } from "../contract/diagnostic.ts";

export interface Finding {
  readonly code: DiagnosticCode;
  readonly node: ts.Node;
  /** The message, without line and column. */
  readonly what: string;
  /** Whether a run of the program is bound to go wrong there; otherwise the finding is advice. */
  readonly isProvable: boolean;
}

const MOST_NAMES = 14;
const LONGEST_SIGNATURE = 300;

export function quoteAll(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES).map((name) => `"${name}"`);
  return shown.join(", ") + (names.length > MOST_NAMES ? ", …" : "");
}

/** A declaration in one line, without its comments. */
export function toOneLine(member: string): string {
  const line = member
    .replaceAll(/\/\*[^]*?\*\//gu, "")
    .replaceAll(/\/\/[^\n]*/gu, "")
    .replaceAll(/\s+/gu, " ")
    .trim()
    .replace(/;$/u, "");
  return cutShort(line, LONGEST_SIGNATURE);
}
