import type { Failure, Position } from "../contract/failure.ts";
import type { Language } from "../contract/ledger.ts";
export interface PreparedSource {
  readonly ok: true;
  readonly script: string;
  readonly lineOffset: number;
}
export type Prepared = PreparedSource | { readonly ok: false; readonly failure: Failure };
export function prepareSource(source: string, _language: Language): Prepared {
  return { ok: true, script: `(async()=>{\n${source}\n})`, lineOffset: 1 };
}
export function toSourcePosition(
  prepared: PreparedSource,
  line: number,
  column: number,
): Position | undefined {
  return { line: line - prepared.lineOffset, column };
}
