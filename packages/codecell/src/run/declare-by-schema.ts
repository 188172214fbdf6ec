/**
 * Declare by schema: a tool's declaration for the check, made from its schemas.
 *
 * - Never stricter than the tool: where the schema does not say all of it, the declaration says less.
 */
import type { ToolDeclaration } from "../check/declare-tools.ts";
import type { AnyTool } from "../contract/tool.ts";
import { renderSignature } from "../declare/render-declarations.ts";
import { inputSchemaOf } from "../declare/tool-schemas.ts";
import { isRecord } from "../value/shape.ts";

/** A declaration that would be longer leaves parts out. */
const MOST_CHARACTERS = 20_000;

/** Beside these a list of properties is not the whole list. */
const OTHER_PROPERTIES = ["patternProperties", "allOf", "anyOf", "oneOf", "$ref", "$dynamicRef", "if"];

export function declareBySchema(name: string, tool: AnyTool): ToolDeclaration {
  const schema = inputSchemaOf(tool);
  // What has a value for inputs it cannot use refuses none of them.
  if (isRecord(schema) && Object.hasOwn(schema, "default")) {
    return { member: `${JSON.stringify(name)}(input?: any): Promise<any>` };
  }
  return {
    member: renderSignature(name, tool, { maxCharacters: MOST_CHARACTERS }),
    isClosed:
      isRecord(schema) &&
      schema["additionalProperties"] === false &&
      !OTHER_PROPERTIES.some((keyword) => Object.hasOwn(schema, keyword)),
  };
}
