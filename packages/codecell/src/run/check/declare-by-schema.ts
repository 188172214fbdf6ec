/**
 * Runs on the host. Makes a tool's declaration for the check from the tool's schemas.
 *
 * - A declaration is never stricter than the tool: if the schema does not say everything, the declaration says less.
 */
import { readLateSchema } from "../../calls/schema.ts";
import type { ToolDeclaration } from "../../check/declare-tools.ts";
import type { JsonSchema } from "../../contract/standard-schema.ts";
import type { AnyTool } from "../../contract/tool.ts";
import { renderSignature } from "../../declare/render-declarations.ts";
import { listOf, References } from "../../declare/references.ts";
import { inputSchemaOf } from "../../declare/tool-schemas.ts";
import { isRecord } from "../../value/shape.ts";
import { refusesMissingProperties, refusesUnknownProperties } from "./tried-schema.ts";

/** A longer declaration leaves parts out. */
const MOST_CHARACTERS = 20_000;

/** Beside one of these keywords, `properties` does not list all properties. */
const OTHER_PROPERTIES = ["patternProperties", "allOf", "anyOf", "oneOf", "$ref", "$dynamicRef", "if"];

export async function declareBySchema(name: string, given: AnyTool): Promise<ToolDeclaration> {
  const input = await readLateSchema(given.input);
  const tool: AnyTool = { ...given, input };
  const schema = inputSchemaOf(tool);
  // A schema with a default for unusable inputs refuses no input.
  const isLenient = isRecord(schema) && Object.hasOwn(schema, "default");
  if (isLenient || !(await refusesMissingProperties(input, schema))) {
    return { member: `${JSON.stringify(name)}(input?: any): Promise<any>` };
  }
  return {
    member: renderSignature(name, tool, { maxCharacters: MOST_CHARACTERS }),
    isClosed: isClosed(schema) && (await refusesUnknownProperties(input)),
  };
}

function isClosed(schema: JsonSchema): boolean {
  if (!isRecord(schema) || schema["additionalProperties"] !== false) return false;
  const { properties } = schema;
  const references = new References(schema);
  return (
    !OTHER_PROPERTIES.some((keyword) => Object.hasOwn(schema, keyword)) &&
    // A read-only property is not declared, but is not refused either.
    !(isRecord(properties) && Object.values(properties).some((each) => isReadOnly(each, references)))
  );
}

function isReadOnly(property: unknown, references: References): boolean {
  if (!isRecord(property)) return false;
  const reference = property["$ref"];
  const referred = typeof reference === "string" ? references.find(reference) : undefined;
  return [property, referred, ...listOf(property["allOf"])].some(
    (part) => isRecord(part) && part["readOnly"] === true,
  );
}
