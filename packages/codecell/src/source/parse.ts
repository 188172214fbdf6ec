/**
 * Parse: reads the source once, with a bound on the work, and words what is wrong with it.
 *
 * - The parser tries some TypeScript constructs in two ways, and nested ones again inside each try: 2^n.
 *   It reads its input through `charCodeAt`, so the input is a string that meters those reads. Honest
 *   programs need two to three reads a character; a source that exhausts the budget is refused.
 * - Nesting beyond the stack is a failure like any other.
 * - A source that is no TypeScript to the parser but is JavaScript is taken as JavaScript.
 * - What the parser objects to only because the source is no module is left to `modules.ts`.
 */

import { parse } from "@babel/parser";
import type { Failure } from "../contract/failure.ts";
import type { Language } from "../contract/ledger.ts";
import type { Comment } from "./edits.ts";
import { toPosition } from "./position.ts";
import { isNode, type SyntaxNode } from "./tree.ts";

export interface ParsedSource {
  readonly ok: true;
  readonly program: SyntaxNode;
  readonly comments: readonly Comment[];
}

export type Parsed = ParsedSource | { readonly ok: false; readonly failure: Failure };

const BASE_READS = 20_000;
const READS_PER_CHARACTER = 6;

/** Objections that do not hold for the body of an async function, or that are judged elsewhere. */
const IGNORED: ReadonlySet<string> = new Set([
  "ImportOutsideModule",
  "ImportMetaOutsideModule",
  "UnexpectedUsingDeclaration",
]);

interface Objection {
  readonly reason: string;
  readonly message: string;
  readonly offset: number;
}

const UNREADABLE: Objection = { reason: "", message: "The source cannot be read", offset: 0 };

type Attempt = ParsedSource | { readonly ok: false; readonly objection: Objection };

export function parseSource(source: string, language: Language): Parsed {
  const attempt = tryParse(source, language, true);
  if (attempt.ok) return attempt;
  const { objection } = attempt;
  if (objection.reason === "TooDeep" || objection.reason === "TooAmbiguous")
    return refuse(source, objection, "");

  const other = tryParse(source, language === "typescript" ? "javascript" : "typescript", true);
  if (other.ok && language === "typescript") return other;
  return refuse(
    source,
    firstObjection(source, language, objection),
    other.ok ? USE_TYPESCRIPT : hintFor(source),
  );
}

/** A failure with the one grammar of this folder's messages. */
export function toSyntaxFailure(source: string, offset: number, what: string, hint = ""): Failure {
  const position = toPosition(source, offset);
  return {
    code: "syntax_error",
    message: `Cannot run the source: ${what} (line ${position.line}, column ${position.column})${hint}`,
    position,
  };
}

function tryParse(source: string, language: Language, errorRecovery: boolean): Attempt {
  try {
    const file = parse(meter(source), {
      sourceType: "script",
      allowReturnOutsideFunction: true,
      allowAwaitOutsideFunction: true,
      errorRecovery,
      attachComment: false,
      locations: false,
      plugins: language === "typescript" ? ["typescript"] : [],
    });
    const objections = (file.errors ?? []).map(toObjection).filter(({ reason }) => !IGNORED.has(reason));
    const first = objections.toSorted((a, b) => a.offset - b.offset)[0];
    if (first !== undefined) return { ok: false, objection: first };
    const program: unknown = file.program;
    if (!isNode(program)) return { ok: false, objection: UNREADABLE };
    const comments = (file.comments ?? []).map(({ start, end }) => ({ start: start ?? 0, end: end ?? 0 }));
    return { ok: true, program, comments };
  } catch (error) {
    return { ok: false, objection: toObjection(error) };
  }
}

/** With recovery on, a fatal error hides the earlier ones it had recovered from. */
function firstObjection(source: string, language: Language, found: Objection): Objection {
  const strict = tryParse(source, language, false);
  if (strict.ok || IGNORED.has(strict.objection.reason)) return found;
  return strict.objection.offset < found.offset ? strict.objection : found;
}

class MeteredText extends String {
  #left: number;

  constructor(text: string) {
    super(text);
    this.#left = BASE_READS + READS_PER_CHARACTER * text.length;
  }

  override charCodeAt(index: number): number {
    if (--this.#left < 0) throw new BudgetError("Too many reads");
    return super.charCodeAt(index);
  }
}

class BudgetError extends Error {}

function meter(source: string): string {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the parser only calls methods on it
  return new MeteredText(source) as unknown as string;
}

function toObjection(error: unknown): Objection {
  if (error instanceof BudgetError) {
    return {
      reason: "TooAmbiguous",
      message: "Type arguments and casts are nested too deeply to read",
      offset: 0,
    };
  }
  if (!(error instanceof SyntaxError)) {
    return { reason: "TooDeep", message: "The program is nested too deeply", offset: 0 };
  }
  const { pos, reasonCode, missingPlugin } = error as SyntaxError & Partial<ParserError>;
  const reason = [missingPlugin].flat()[0] ?? reasonCode ?? "";
  const message = MESSAGES[reason] ?? error.message.replace(/ \(\d+:\d+\)$/u, "").replace(/\.$/u, "");
  return { reason, message, offset: pos ?? 0 };
}

interface ParserError {
  readonly pos: number;
  readonly reasonCode: string;
  readonly missingPlugin: string | readonly string[];
}

const MESSAGES: Readonly<Record<string, string>> = {
  AwaitNotInAsyncContext:
    '"await" works only at the top level and in async functions, make this function async',
  decoratorAutoAccessors: '"accessor" fields are not supported, write a getter and a setter',
  decorators: "Decorators are not supported, call the function instead",
  jsx: "JSX is not supported, build strings or plain values",
};

const USE_TYPESCRIPT = '; the source is TypeScript, use language "typescript"';

function refuse(source: string, { offset, message }: Objection, hint: string): Parsed {
  return { ok: false, failure: toSyntaxFailure(source, offset, message, hint) };
}

const MARKUP = /<\/[A-Za-z]|<[A-Za-z][^<>]*\/>/u;
const CODE_START =
  /^(?:abstract|async|await|class|const|declare|do|enum|export|for|function|if|import|interface|let|new|return|switch|throw|try|type|var|while)\b/u;

function hintFor(source: string): string {
  const text = source.trim();
  if (text.startsWith("```")) return "; send one program alone, without Markdown fences or prose around it";
  const line = /^.*$/mu.exec(text)?.[0] ?? "";
  if (/^[^(){};=`]*\s[^(){};=`]*$/u.test(line) && !CODE_START.test(line)) {
    return "; expected a JavaScript or TypeScript program, not prose or a shell command";
  }
  return MARKUP.test(text) ? "; JSX is not supported" : "";
}
