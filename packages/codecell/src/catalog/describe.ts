/**
 * Describe: everything that a program has to know about a tool before it calls the tool. Runs anywhere.
 *
 * - A signature shows how a program calls the tool, ready to paste: by its convenience name if it has one, else by its
 *   id.
 */
import type { JsonSchema } from "../contract/standard-schema.ts";
import type { ToolExample } from "../contract/tool.ts";
import { renderSignature } from "../declare/render-declarations.ts";
import { renderType } from "../declare/render-type.ts";
import { inputSchemaOf, outputSchemaOf } from "../declare/tool-schemas.ts";
import { quote } from "../declare/literal.ts";
import type { CatalogEntry } from "./catalog-entry.ts";
import type { ObservedOutput } from "./observed-outputs.ts";

/** What a list shows about a tool. */
export interface ToolSummary {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly owner: string;
  readonly label?: string;
  readonly description: string;
}

export interface FoundTool extends ToolSummary {
  /** How a program calls the tool. */
  readonly signature: string;
}

export interface ToolDescription extends FoundTool {
  readonly tags: readonly string[];
  readonly inputSchema: JsonSchema;
  /** Absent if the tool has no output schema that says anything. */
  readonly outputSchema?: JsonSchema;
  /** Declarations of `Input`, and of `Output` if something is known about it. */
  readonly typeScript: string;
  readonly examples: readonly ToolExample[];
  /** What outputs have looked like so far, for a tool without a useful output schema. */
  readonly observedOutput?: ObservedOutput;
}

export function toSummary({ id, name, kind, owner, tool }: CatalogEntry): ToolSummary {
  const { label, description = "" } = tool;
  return { id, name, kind, owner, ...(label === undefined ? {} : { label }), description };
}

export function toSignature({ id, tool }: CatalogEntry, convenienceName: string | undefined): string {
  const call = renderSignature("call", tool).slice("call(".length);
  // The name stays as it is: an identifier may have characters beyond ASCII, and a cut name would not call the tool.
  return convenienceName === undefined
    ? `tools.call(${quote(id)},${call}`
    : `tools.${convenienceName}(${call}`;
}

/** `observedOutput` is what was learnt about a tool without a useful output schema. */
export function toDescription(
  entry: CatalogEntry,
  convenienceName: string | undefined,
  observedOutput: ObservedOutput | undefined,
): ToolDescription {
  const { tool } = entry;
  const inputSchema = inputSchemaOf(tool);
  const outputSchema = usefulOutputSchemaOf(entry);
  const types = [renderType("Input", inputSchema, { direction: "input" })];
  if (outputSchema !== undefined) types.push(renderType("Output", outputSchema, { direction: "output" }));
  else if (observedOutput !== undefined) types.push(`type Output=${observedOutput.typeScript}`);
  return {
    ...toSummary(entry),
    signature: toSignature(entry, convenienceName),
    tags: tool.tags ?? [],
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    typeScript: types.join("\n"),
    examples: tool.examples ?? [],
    ...(observedOutput === undefined ? {} : { observedOutput }),
  };
}

/** Undefined if the output schema says nothing about values. */
export function usefulOutputSchemaOf({ tool }: CatalogEntry): JsonSchema | undefined {
  const schema = outputSchemaOf(tool);
  if (typeof schema === "boolean") return schema ? undefined : schema;
  return Object.keys(schema).some((keyword) => !SILENT.has(keyword)) ? schema : undefined;
}

/** Keywords that say nothing about a value. */
const SILENT: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "$comment",
  "title",
  "description",
  "examples",
]);
