/**
 * Runs in the check's thread. Turns what the compiler says beyond the findings into advice, in the model's own terms.
 */
import { cutShort } from "../contract/cut-short.ts";
import type ts from "@typescript/typescript6";
import type { TypeScript } from "./load-typescript.ts";

/** Codes that are no advice: they object to what a program may do, or another finding says the same better. */
const IDLE_CODES: ReadonlySet<number> = new Set([
  1184, // modifiers cannot appear here: `declare` inside a function
  2307, // cannot find module: only types are imported
  2318, // cannot find global type
  2451, // `source/` refuses this
  2695, // left side of comma operator is unused
]);
/** Codes about types that a program leaves out, as a model should, and about code that is never reached. */
const IMPLICIT_CODES = { from: 7000, to: 7099 };
const LONGEST_MESSAGE = 300;
/**
 * The compiler's advice to whoever set up a project, to the end of its message: what to install, which settings to
 * change.
 */
const SETUP = /\.? (?:Do you need to|Consider adding|Try `npm|Try changing)[^]*$/u;
const MEMBERS = /type '(?:Tools|Tool_[\da-f]+\.Members)'/u;

export interface CompilerAdvice {
  readonly start: number;
  readonly what: string;
}

export function toAdvice(compiler: TypeScript, diagnostics: readonly ts.Diagnostic[]): CompilerAdvice[] {
  return diagnostics.flatMap(({ code, start, messageText }) => {
    if (start === undefined || IDLE_CODES.has(code)) return [];
    if (code >= IMPLICIT_CODES.from && code <= IMPLICIT_CODES.to) return [];
    const text = compiler.flattenDiagnosticMessageText(messageText, "\n");
    // The call sites say which tools exist.
    if (MEMBERS.test(text)) return [];
    const line = text
      .replaceAll(/\.?\n\s*/gu, ": ")
      .replaceAll(/Tool_[\da-f]+\./gu, "")
      .replace(SETUP, "")
      .replace(/\.$/u, "");
    return [{ start, what: `${cutShort(line, LONGEST_MESSAGE)} (TS${code})` }];
  });
}
