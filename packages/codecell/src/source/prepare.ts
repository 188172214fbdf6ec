/**
 * Prepare: turns the source, which the model wrote, into the script, which the engine evaluates, or says why that is
 * not possible. Runs anywhere.
 *
 * - The script is one expression: an async arrow function without parameters. Its body is the source with the types
 *   blanked. Lines keep their order. Columns stay where they are except for insertions, which `toSourcePosition` takes
 *   into account.
 * - What runs is what was parsed. Text that the parser and the engine might read differently (HTML comments, a
 *   hashbang) is blanked, a lone CR becomes LF, and the body cannot close the wrapper.
 * - Nothing here throws. The length of the source bounds the work.
 */

import type { Failure, Position } from "../contract/failure.ts";
import type { Language } from "../contract/ledger.ts";
import { blankTypes, isErased, type Refusal } from "./blank.ts";
import { Edits, type Insertion } from "./edits.ts";
import { declares, findModuleUse, isFeatureTest, type ModuleUse, toModuleFailure } from "./modules.ts";
import { NO_FENCE, type ParsedSource, parseSource, toSyntaxFailure } from "./parse.ts";
import { fromEnginePosition, withoutInsertions } from "./position.ts";
import { applyShape, blankFence, type Shape } from "./shape.ts";
import { child, children, type SyntaxNode, walk } from "./tree.ts";

export interface PreparedSource {
  readonly ok: true;
  /** An expression that evaluates to an async function without parameters. */
  readonly script: string;
  /** Lines of the script before line 1 of the source. */
  readonly lineOffset: number;
  /** Lines of the script that come from the source. */
  readonly lineCount: number;
  /** Whether the result is the value of the last expression, because the program has no `return`. */
  readonly isResultImplied: boolean;
  /** Text that is in the script but not in the source. */
  readonly insertions: readonly Insertion[];
}

export interface Refused {
  readonly ok: false;
  readonly failure: Failure;
}

export type Prepared = PreparedSource | Refused;

const OPEN = "(async()=>{\n";
const CLOSE = "})";

export function prepareSource(source: string, language: Language): Prepared {
  const read = readSource(source, language);
  if (!read.ok) return read;
  const { edits, shape } = read;
  const rendered = edits.render();
  const body = rendered.body.replace(/\r(?!\n)/gu, "\n");
  return {
    ok: true,
    script: `${OPEN}${body}\n${shape.tail}${CLOSE}`,
    lineOffset: 1,
    lineCount: body.split("\n").length,
    isResultImplied: shape.isImplied,
    insertions: rendered.insertions,
  };
}

export interface TypedSource {
  readonly ok: true;
  /** The statements of an async function: the source with its types, in its shape. */
  readonly body: string;
  readonly isResultImplied: boolean;
  /** Converts an offset in the body to an offset in the source. */
  readonly toSourceOffset: (offset: number) => number;
}

/** The same program for a reader of its types (the check). Refuses exactly what `prepareSource` refuses. */
export function prepareTypedSource(source: string, language: Language): TypedSource | Refused {
  const read = readSource(source, language);
  if (!read.ok) return read;
  const { parsed, hasReturn } = read;
  const edits = new Edits(read.edits.source, parsed.comments);
  blankUnsureText(edits, parsed.program, parsed.comments);
  for (const node of children(parsed.program, "body")) {
    if (isErased(node) && /^(?:Import|Export)/u.test(node.type)) edits.erase(node);
  }
  const shape = applyShape(edits, parsed.program, hasReturn);
  if (shape.kind !== "shaped") return read.refuse(shape);
  const { body, insertions } = edits.render();
  return {
    ok: true,
    body: `${body.replace(/\r(?!\n)/gu, "\n")}\n${shape.tail}`,
    isResultImplied: shape.isImplied,
    toSourceOffset: (offset) => Math.min(withoutInsertions(insertions, offset), source.length),
  };
}

interface ReadSource {
  readonly ok: true;
  readonly parsed: ParsedSource;
  /** The types are blanked and the shape is applied. */
  readonly edits: Edits;
  readonly shape: Extract<Shape, { readonly kind: "shaped" }>;
  readonly hasReturn: boolean;
  readonly refuse: (shape: Exclude<Shape, { readonly kind: "shaped" }>) => Refused;
}

function readSource(source: string, language: Language): ReadSource | Refused {
  const text = blankFence(source);
  const parsed = parseSource(text, language);
  if (!parsed.ok) return parsed;
  const edits = new Edits(text, parsed.comments);
  const { failure, hasReturn } = inspect(edits, parsed);
  if (failure !== undefined) return { ok: false, failure };
  const refuse: ReadSource["refuse"] = (shape) => ({
    ok: false,
    failure:
      shape.kind === "refused"
        ? toRefusalFailure(text, shape.refusal)
        : toModuleFailure(text, { node: shape.node, what: '"export"' }),
  });
  const shape = applyShape(edits, parsed.program, hasReturn);
  return shape.kind === "shaped" ? { ok: true, parsed, edits, shape, hasReturn, refuse } : refuse(shape);
}

/** Converts a line and column that the engine reports for the script to a position in the model's text. */
export function toSourcePosition(
  prepared: PreparedSource,
  line: number,
  column: number,
): Position | undefined {
  const sourceLine = line - prepared.lineOffset;
  if (sourceLine < 1 || sourceLine > prepared.lineCount) return undefined;
  return fromEnginePosition(prepared.script.slice(OPEN.length), prepared.insertions, sourceLine, column);
}

interface SourceInspection {
  readonly hasReturn: boolean;
  readonly failure: Failure | undefined;
}

function inspect(edits: Edits, { program, comments }: ParsedSource): SourceInspection {
  let hasReturn = false;
  let refusal: Refusal | undefined;
  let moduleUse: ModuleUse | undefined;
  let requireUse: ModuleUse | undefined;

  blankUnsureText(edits, program, comments);
  walk(program, (node, insideFunction) => {
    if (node.type === "ReturnStatement" && !insideFunction) hasReturn = true;
    if (isFeatureTest(node)) return false;
    const use = findModuleUse(node);
    if (use !== undefined) {
      if (node.type === "Identifier") requireUse = earlier(requireUse, use);
      else moduleUse = earlier(moduleUse, use);
    }
    if (node.type === "Identifier" && node["name"] === "await")
      refusal = earlier(refusal, { node, what: AWAIT_NAME });
    if (isFence(node)) refusal = earlier(refusal, { node, what: FENCE_INSIDE });
    const blanked = blankTypes(edits, node);
    if (typeof blanked === "object") refusal = earlier(refusal, blanked);
    return blanked === "inside";
  });

  if (requireUse !== undefined && !declares(program, "require")) moduleUse = earlier(moduleUse, requireUse);
  const moduleFirst = moduleUse !== undefined && (refusal?.node.start ?? Infinity) >= moduleUse.node.start;
  if (moduleFirst && moduleUse !== undefined)
    return { hasReturn, failure: toModuleFailure(edits.source, moduleUse) };
  return { hasReturn, failure: refusal === undefined ? undefined : toRefusalFailure(edits.source, refusal) };
}

const AWAIT_NAME = '"await" works only at the top level and in async functions, and cannot be a name';

const FENCE_INSIDE = `This is not a program, ${NO_FENCE}`;

/** Three backticks parse as a template tagged with a template. No program means that. */
function isFence(node: SyntaxNode): boolean {
  return node.type === "TaggedTemplateExpression" && child(node, "tag")?.type === "TemplateLiteral";
}

function earlier<Found extends { readonly node: SyntaxNode }>(known: Found | undefined, found: Found): Found {
  return known === undefined || found.node.start < known.node.start ? found : known;
}

function toRefusalFailure(text: string, { node, what }: Refusal): Failure {
  return toSyntaxFailure(text, node.start, what);
}

function blankUnsureText(edits: Edits, program: SyntaxNode, comments: ParsedSource["comments"]): void {
  if (edits.source.startsWith("\uFEFF")) edits.blank(0, 1);
  const hashbang = child(program, "interpreter");
  if (hashbang !== undefined) edits.blank(hashbang.start, hashbang.end);
  for (const { start, end } of comments) {
    if (!edits.source.startsWith("/", start)) edits.blank(start, end);
  }
}
