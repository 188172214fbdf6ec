/** Advice: what the compiler has to say beyond what can be proven, in the model's own terms. */
import type ts from "@typescript/typescript6";
import type { TypeScript } from "./load-typescript.ts";

/** Objections to what a program may do, or that other findings say better. */
const IDLE_CODES: ReadonlySet<number> = new Set([
  1184, // modifiers cannot appear here: `declare` inside a function
  2307, // cannot find module: only types are imported
  2318, // cannot find global type
  2451, // judged by source/
  2695, // left side of comma operator is unused
]);
/** Types that are left out, which a model is right to do, and code that is never reached. */
const IMPLICIT_CODES = { from: 7000, to: 7099 };
const LONGEST_MESSAGE = 300;
/** Advice to whoever set up a project, from here to its end: what to install, which settings to change. */
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
    // Which tools exist is for the call sites to say.
    if (MEMBERS.test(text)) return [];
    const line = text
      .replaceAll(/\.?\n\s*/gu, ": ")
      .replaceAll(/Tool_[\da-f]+\./gu, "")
      .replace(SETUP, "")
      .replace(/\.$/u, "");
    const what = line.length > LONGEST_MESSAGE ? `${line.slice(0, LONGEST_MESSAGE)}…` : line;
    return [{ start, what: `${what} (TS${code})` }];
  });
}
