/** Finding: something wrong at a node of the program, before it is put in the model's own terms. */
import type ts from "@typescript/typescript6";
import type { DiagnosticCode } from "../contract/diagnostic.ts";

export interface Finding {
  readonly code: DiagnosticCode;
  readonly node: ts.Node;
  /** A message without its place. */
  readonly what: string;
  /** Whether a run of the program is bound to go wrong there; otherwise it is advice. */
  readonly isProvable: boolean;
}

const MOST_NAMES = 14;
const LONGEST_SIGNATURE = 300;

export function quoteAll(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES).map((name) => `"${name}"`);
  return shown.join(", ") + (names.length > MOST_NAMES ? ", …" : "");
}

/** A declaration in one line, without its comments. */
export function toSignature(member: string): string {
  const line = member
    .replaceAll(/\/\*[^]*?\*\//gu, "")
    .replaceAll(/\/\/[^\n]*/gu, "")
    .replaceAll(/\s+/gu, " ")
    .trim()
    .replace(/;$/u, "");
  return line.length > LONGEST_SIGNATURE ? `${line.slice(0, LONGEST_SIGNATURE)}…` : line;
}
