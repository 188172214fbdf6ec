/**
 * DescribedTools: the tools of a description, whose schemas and plans are read when somebody asks for them. Runs on the
 * host.
 *
 * - A schema has all that it refers to, up to a size. What is beyond means anything: no schema grows without end.
 */
import type { JsonSchema } from "codecell";
import type { BackendTool } from "../contract/connector.ts";
import { hintsOf } from "../web/hints.ts";
import type { DescribedApi, PartText, Range, SchemaText, ToolText } from "./messages.ts";

/** The text of all parts of one schema. */
const MOST_PART_BYTES = 500_000;

export function describedTool(described: DescribedApi, text: ToolText): BackendTool {
  return Object.freeze(toolOf(described, text));
}

/** What the thread wrote for making the request. */
export function planOf(described: DescribedApi, { plan }: ToolText): unknown {
  return parse(described, plan);
}

function toolOf(described: DescribedApi, text: ToolText): BackendTool {
  const { name, title, description, tags, isDeprecated, method, input, output } = text;
  const about = {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(tags === undefined ? {} : { tags }),
    ...(isDeprecated ? { avoidWhen: "The API calls it deprecated" } : {}),
    ...hintsOf(method),
  };
  const tool = about as BackendTool;
  defineLazily(tool, "inputSchema", () => schemaOf(described, input));
  if (output !== undefined) defineLazily(tool, "outputSchema", () => schemaOf(described, output));
  return tool;
}

/** Reading a thousand schemas takes seconds, and a program uses a few. */
function defineLazily(tool: BackendTool, key: "inputSchema" | "outputSchema", read: () => JsonSchema): void {
  let schema: JsonSchema | undefined;
  Object.defineProperty(tool, key, { enumerable: true, get: () => (schema ??= read()) });
}

function schemaOf(described: DescribedApi, { range, parts }: SchemaText): JsonSchema {
  const schema = parse(described, range) as JsonSchema;
  if (typeof schema === "boolean" || parts.length === 0) return deepFreeze(schema);
  const found = new Map<number, unknown>();
  let bytes = 0;
  // Breadth first: what is nearest is what a program needs.
  const open = [...parts];
  for (const number of open) {
    if (found.has(number)) continue;
    const part = described.parts[number] as PartText;
    bytes += part.range[1] - part.range[0];
    found.set(number, bytes > MOST_PART_BYTES ? {} : parse(described, part.range));
    if (bytes <= MOST_PART_BYTES) open.push(...part.parts);
  }
  const defs = [...found].map(([number, part]) => [(described.parts[number] as PartText).name, part]);
  return deepFreeze({ ...schema, $defs: Object.fromEntries(defs) as unknown });
}

function parse({ text }: DescribedApi, [from, to]: Range): unknown {
  return JSON.parse(new TextDecoder().decode(text.subarray(from, to)));
}

/** Everybody who asks gets the same schema. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
