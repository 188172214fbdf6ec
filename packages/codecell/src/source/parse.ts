/**
 * Parse: parses the source with a bound on the work, and says what is wrong with it. Runs anywhere.
 *
 * - The parser tries some TypeScript constructs in two ways, and tries nested ones again inside each attempt: 2^n. The
 *   parser reads its input through `charCodeAt`, so it is given a string that counts these reads. The densest honest
 *   programs (lists of digits) need fewer than five reads per character. A source that uses up the budget is refused.
 * - Each failed attempt creates an error object. Recording its stack is most of the cost, so no stack is recorded here.
 * - A source nested deeper than the stack allows is refused like any other faulty source.
 * - A source that does not parse as TypeScript but parses as JavaScript is treated as JavaScript.
 * - The parser also objects to module syntax, because the source is not a module. These objections are ignored:
 *   `modules.ts` decides.
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

export type SourceReading = ParsedSource | { readonly ok: false; readonly failure: Failure };

const BASE_READS = 30_000;
const READS_PER_CHARACTER = 6;

/** The parser's messages quote names, and a name can be as long as the source. */
const MESSAGE_LENGTH = 200;

/** Objections that do not apply to the body of an async function, or that `modules.ts` handles. */
const IGNORED: ReadonlySet<string> = new Set([
  "ImportOutsideModule",
  "ImportMetaOutsideModule",
  "UnexpectedUsingDeclaration",
]);

interface Objection {
  readonly reason: string;
  readonly message: string;
  /** Absent if the objection concerns the whole source. */
  readonly offset?: number;
}

const UNREADABLE: Objection = { reason: "", message: "The source cannot be read" };

type Attempt = ParsedSource | { readonly ok: false; readonly objection: Objection };

export function parseSource(source: string, language: Language): SourceReading {
  const attempt = parseAs(source, language);
  if (attempt.ok) return attempt;
  const { objection } = attempt;
  if (objection.offset === undefined) return refuse(source, objection, "");

  const other = parseAs(source, language === "typescript" ? "javascript" : "typescript");
  if (other.ok && language === "typescript") return other;
  return refuse(source, objection, other.ok ? USE_TYPESCRIPT : hintFor(source));
}

/** Each error recovery costs time, so recovery is on only for a source whose first error is ignored. */
function parseAs(source: string, language: Language): Attempt {
  const attempt = tryParse(source, language, false);
  return !attempt.ok && IGNORED.has(attempt.objection.reason) ? tryParse(source, language, true) : attempt;
}

/** Every message of this folder is built here and has the same form. */
export function toSyntaxFailure(
  source: string,
  offset: number | undefined,
  what: string,
  hint = "",
): Failure {
  const message = `Cannot run the source: ${what.slice(0, MESSAGE_LENGTH)}`;
  if (offset === undefined) return { code: "syntax_error", message };
  const position = toPosition(source, offset);
  const place = `(line ${position.line}, column ${position.column})`;
  return { code: "syntax_error", message: `${message} ${place}${hint}`, position };
}

function tryParse(source: string, language: Language, errorRecovery: boolean): Attempt {
  const { stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = 0;
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
    const first = objections.toSorted((a, b) => (a.offset ?? 0) - (b.offset ?? 0))[0];
    if (first !== undefined) return { ok: false, objection: first };
    const program: unknown = file.program;
    if (!isNode(program)) return { ok: false, objection: UNREADABLE };
    const comments = (file.comments ?? []).map(({ start, end }) => ({ start: start ?? 0, end: end ?? 0 }));
    return { ok: true, program, comments };
  } catch (error) {
    return { ok: false, objection: toObjection(error) };
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

class MeteredText extends String {
  readonly #text: string;
  #left: number;

  constructor(text: string) {
    super(text);
    this.#text = text;
    this.#left = BASE_READS + READS_PER_CHARACTER * text.length;
  }

  override charCodeAt(index: number): number {
    if (--this.#left < 0) throw new BudgetError("Too many reads");
    return this.#text.charCodeAt(index);
  }
}

class BudgetError extends Error {}

function meter(source: string): string {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the parser only calls methods of the string
  return new MeteredText(source) as unknown as string;
}

function toObjection(error: unknown): Objection {
  if (error instanceof BudgetError) {
    return { reason: "TooAmbiguous", message: "Casts and type arguments are nested too deeply" };
  }
  if (!(error instanceof SyntaxError)) {
    return { reason: "TooDeep", message: "The program is nested too deeply" };
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

const NOT_PROSE = "expected a JavaScript or TypeScript program, not prose or a shell command";
export const NO_FENCE = "send one program alone, without Markdown fences or prose around it";
const USE_TYPESCRIPT = '; the source is TypeScript, use language "typescript"';

function refuse(source: string, { offset, message }: Objection, hint: string): SourceReading {
  return { ok: false, failure: toSyntaxFailure(source, offset, message, hint) };
}

const MARKUP = /<\/[A-Za-z]|<[A-Za-z][^<>]*\/>/u;
const CODE_START =
  /^(?:abstract|async|await|class|const|declare|do|enum|export|for|function|if|import|interface|let|new|return|switch|throw|try|type|var|while)\b/u;

function hintFor(source: string): string {
  const text = source.trim();
  if (/^[ \t]*(?:```|~~~)/mu.test(text)) return `; ${NO_FENCE}`;
  const line = /^.*$/mu.exec(text)?.[0] ?? "";
  if (/\S\s+\S/u.test(line) && !/[(){};=`]/u.test(line) && !CODE_START.test(line)) return `; ${NOT_PROSE}`;
  return MARKUP.test(text) ? "; JSX is not supported" : "";
}
