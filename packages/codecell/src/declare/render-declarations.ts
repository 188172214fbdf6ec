/**
 * Render declarations: prints tools as a model sees them. Runs anywhere.
 *
 * - Types that several tools use are declared once, before the tools.
 * - A value that is not a tool is refused; it would be declared as a tool that takes anything.
 * - Equal tool sets give equal texts, so that the text can be cached.
 */
import { AGENT_TOOL_KEYS, assertTool, assertToolSet } from "../contract/assert-tools.ts";
import type { AnyTool, ToolSet } from "../contract/tool.ts";
import { cut, docLine, type Docs, toComment, toDocText } from "./comment.ts";
import { fit, type FitRoot } from "./fit.ts";
import { toMethodName } from "./literal.ts";
import { type DeclareOptions, resolveOptions } from "./options.ts";
import { readSchema } from "./read-schema.ts";
import type { Rendered } from "./render-nodes.ts";
import { inputSchemaOf, outputSchemaOf } from "./tool-schemas.ts";

const DEFAULT_CHARACTERS = 200_000;
const DEFAULT_SIGNATURE_CHARACTERS = 400;
/** The most parts of each schema that are read, and the least, however many tools there are. */
const MOST_PARTS = 20_000;
const LEAST_PARTS = 64;
/** Characters around the tools when some of them are left out. */
const AROUND_CHARACTERS = 60;
/**
 * If nothing else fits, a signature's name is cut to this length, so that the smallest allowed `maxCharacters` is kept.
 */
const LONGEST_NAME = 30;

const ACTION = "render declarations";

/** Renders `declare const tools:{…}`, one tool per line, after the types that the tools share. */
export function renderDeclarations(tools: ToolSet, options: DeclareOptions = {}): string {
  assertToolSet(tools, ACTION);
  for (const [name, tool] of Object.entries(tools)) assertTool(tool, name, ACTION, AGENT_TOOL_KEYS);
  const resolved = resolveOptions(options, DEFAULT_CHARACTERS);
  const entries = Object.entries(tools);
  const share = Math.ceil(resolved.maxCharacters / Math.max(1, entries.length));
  const parts = Math.min(MOST_PARTS, Math.max(LEAST_PARTS, share));
  const roots = entries.flatMap(([, tool]) => rootsOf(tool, parts));
  const write = ({ declarations, types }: Rendered, docs: Docs): string => {
    const lines = entries.map(([name, tool], index) => {
      const doc = { text: toDocText(tool.description), notes: "" };
      const [input = "unknown", output = "unknown"] = types.slice(2 * index, 2 * index + 2);
      return `${toComment(docLine(doc, docs))}${toSignature(name, tool, input, output)}`;
    });
    return toDeclaration(declarations, lines);
  };
  return fit(roots, write, resolved) ?? toDeclaration([], firstOf(entries, resolved.maxCharacters));
}

/** Renders the call of one tool on one line, for search results and messages. Declares no types of its own. */
export function renderSignature(name: string, tool: AnyTool, options: DeclareOptions = {}): string {
  assertTool(tool, name, "render a signature", AGENT_TOOL_KEYS);
  const resolved = resolveOptions({ ...options, docs: options.docs ?? "none" }, DEFAULT_SIGNATURE_CHARACTERS);
  const roots = rootsOf(tool, resolved.maxCharacters);
  const write = ({ types: [input = "unknown", output = "unknown"] }: Rendered): string =>
    toSignature(name, tool, input, output);
  return (
    fit(roots, write, resolved, false) ?? toSignature(cut(name, LONGEST_NAME), tool, "unknown", "unknown")
  );
}

function rootsOf(tool: AnyTool, most: number): readonly FitRoot[] {
  return [
    { use: readSchema(inputSchemaOf(tool), { direction: "input", most }) },
    { use: readSchema(outputSchemaOf(tool), { direction: "output", most }) },
  ];
}

/**
 * A tool without an input schema may be called without an input. With a schema an input must be passed, even if it is
 * an empty object.
 */
function toSignature(name: string, tool: AnyTool, input: string, output: string): string {
  const optional = tool.input === undefined ? "?" : "";
  return `${toMethodName(name)}(input${optional}:${input}):Promise<${output}>`;
}

function toDeclaration(types: readonly string[], tools: readonly string[]): string {
  return [...types, "declare const tools:{", ...tools, "}"].join("\n");
}

/** For texts in which not even all bare names fit: the first tools, and the number of the others. */
function firstOf(entries: readonly (readonly [string, AnyTool])[], maxCharacters: number): readonly string[] {
  const lines = entries.map(([name, tool]) => toSignature(name, tool, "unknown", "unknown"));
  let left = maxCharacters - AROUND_CHARACTERS;
  const count = lines.findIndex((line) => (left -= line.length + 1) < 0);
  if (count === -1) return lines;
  const more = lines.length - count;
  return [...lines.slice(0, count), `/* …${more} more tool${more === 1 ? "" : "s"} */`];
}
