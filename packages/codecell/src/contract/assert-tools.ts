/**
 * Runs anywhere. Refuses values that are not tools or not a set of tools.
 *
 * - A mistake of the host's programmer must not make a tool weaker than it looks. So a schema or an approval in the
 *   words of another library is refused, never ignored.
 * - Throws a TypeError that names the tool and says what to write instead.
 */
import { schemaProblem } from "./schema-problem.ts";
import type { AnyTool, ToolSet } from "./tool.ts";

/** Keys that only a tool of an agent has. */
export const AGENT_TOOL_KEYS: readonly string[] = ["directOnly", "sequential"];

/** `action` is what cannot be done with such tools: `start a run`. */
export function assertToolSet(tools: unknown, action: string): asserts tools is object {
  const kind = kindOfSet(tools);
  if (kind === undefined) return;
  throw new TypeError(`Cannot ${action}: tools must be an object of tools by their names, it is ${kind}`);
}

export function assertTools(tools: unknown, action: string): asserts tools is ToolSet {
  assertToolSet(tools, action);
  for (const [name, tool] of Object.entries(tools) as [string, unknown][]) assertTool(tool, name, action);
}

export function assertTool(
  tool: unknown,
  name: string,
  action: string,
  more: readonly string[] = [],
): asserts tool is AnyTool {
  const problem = toolProblem(tool, more);
  if (problem !== undefined) throw new TypeError(`Cannot ${action}: tool "${name}" ${problem}`);
}

function toolProblem(tool: unknown, more: readonly string[]): string | undefined {
  if (typeof tool === "function") return "is a function, give { execute } with that function";
  if (typeof tool !== "object" || tool === null || Array.isArray(tool)) {
    return `is ${kindOf(tool)}, give an object with an execute function`;
  }
  const given = tool as Readonly<Record<string, unknown>>;
  const other = OTHERS.find(([key]) => given[key] !== undefined);
  if (other !== undefined) return `has "${other[0]}", ${other[1]}`;
  if (typeof given["execute"] !== "function") {
    const meant = FUNCTIONS.find((key) => typeof given[key] === "function");
    return meant === undefined
      ? "has no execute function"
      : `has no execute function, name it so instead of "${meant}"`;
  }
  // An object of a class may have other keys.
  const unknown = isLiteral(tool) ? Object.keys(given).find((key) => isUnknown(given, key, more)) : undefined;
  if (unknown !== undefined) {
    return `has "${unknown}", which no tool has: leave it out, a tool has ${[...KEYS, ...more].join(", ")}`;
  }
  for (const key of ["input", "output"]) {
    const problem = schemaProblem(given[key]);
    if (problem !== undefined) return `has an ${key} that ${problem}`;
  }
  return undefined;
}

const KEYS: readonly string[] = [
  "description",
  "label",
  "tags",
  "examples",
  "input",
  "output",
  "readOnly",
  "idempotent",
  "execute",
];

const OF_AI_SDK = "tools of the AI SDK go to codecell/ai";
const APPROVAL = `which Codecell does not read: decide in authorize, or in execute with call.suspend (${OF_AI_SDK})`;

/**
 * Keys by which tools of other libraries bound their use. A tool with such a key must not be used without that bound.
 */
const OTHERS: readonly (readonly [key: string, meant: string])[] = [
  ["needsApproval", APPROVAL],
  ["requireApproval", APPROVAL],
  ["requiresApproval", APPROVAL],
  ["inputSchema", `give the schema as "input" and what calls the tool as "execute" (${OF_AI_SDK})`],
  ["outputSchema", `give the schema as "output" (${OF_AI_SDK})`],
  ["parameters", `give the schema as "input" (${OF_AI_SDK})`],
];

/** Names that other libraries have for `execute`. */
const FUNCTIONS: readonly string[] = ["handler", "run", "call", "callback", "invoke", "fn", "func", "action"];

function isUnknown(tool: Readonly<Record<string, unknown>>, key: string, more: readonly string[]): boolean {
  return tool[key] !== undefined && !KEYS.includes(key) && !more.includes(key);
}

function isLiteral(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Undefined for what may be a set of tools. */
function kindOfSet(tools: unknown): string | undefined {
  if (typeof tools !== "object" || tools === null || Array.isArray(tools)) return kindOf(tools);
  if (Symbol.iterator in tools) return "a collection, use Object.fromEntries";
  // A tool may have the name `then`; it is not a function.
  return "then" in tools && typeof tools.then === "function" ? "a promise, await it" : undefined;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}
