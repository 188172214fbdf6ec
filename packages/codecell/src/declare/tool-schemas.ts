/**
 * Tool schemas: a tool's input and output as JSON Schema. Runs anywhere.
 *
 * - JSON Schema is returned as it is. A Standard Schema that implements Standard JSON Schema is converted. Any other
 *   Standard Schema, and one that cannot be converted, gives `true`: any value.
 * - No schema library is loaded; this file knows only the interface.
 */
import {
  type Direction,
  isStandardSchema,
  type JsonSchema,
  type StandardSchema,
} from "../contract/standard-schema.ts";
import type { AnyTool } from "../contract/tool.ts";
import { isRecord } from "../value/shape.ts";

/** The dialects to ask for, best first. */
const TARGETS = ["draft-2020-12", "draft-07", "openapi-3.0"];

type Convert = (options: { readonly target: string }) => unknown;

/** The schema of what the guest passes: the value before the schema converts it. */
export function inputSchemaOf(tool: AnyTool): JsonSchema {
  return toJsonSchema(tool.input, "input");
}

/** The schema of what the guest gets: the value after the schema has converted it. */
export function outputSchemaOf(tool: AnyTool): JsonSchema {
  return toJsonSchema(tool.output, "output");
}

export function toJsonSchema(
  schema: StandardSchema | JsonSchema | undefined,
  direction: Direction,
): JsonSchema {
  if (schema === undefined || schema === null) return true;
  if (!isStandardSchema(schema)) return schema;
  const standard: unknown = schema["~standard"];
  const converter = isRecord(standard) ? standard["jsonSchema"] : undefined;
  const convert = isRecord(converter) ? converter[direction] : undefined;
  if (typeof convert !== "function") return true;
  for (const target of TARGETS) {
    const converted = tryConvert(convert.bind(converter) as Convert, target);
    if (converted !== undefined) return converted;
  }
  return true;
}

/** Libraries throw for unknown targets and for types that JSON Schema cannot express. */
function tryConvert(convert: Convert, target: string): JsonSchema | undefined {
  try {
    const converted = convert({ target });
    return isRecord(converted) || typeof converted === "boolean" ? converted : undefined;
  } catch {
    return undefined;
  }
}
