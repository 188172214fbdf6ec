/** Render type: prints one schema as a TypeScript type, with the declarations that it needs. Runs anywhere. */
import type { JsonSchema, StandardSchema, Direction } from "../contract/standard-schema.ts";
import { fit } from "./fit.ts";
import { isIdentifier } from "./literal.ts";
import { type DeclareOptions, resolveOptions } from "./options.ts";
import { readSchema } from "./read-schema.ts";
import { toJsonSchema } from "./tool-schemas.ts";

export interface RenderTypeOptions extends DeclareOptions {
  /** "input" leaves out read-only fields, "output" leaves out write-only fields. Default: shows both. */
  readonly direction?: Direction | undefined;
}

const DEFAULT_CHARACTERS = 40_000;
/** The most parts of a schema that are read, however long the text may be. */
const MOST_PARTS = 20_000;

/** Renders `type Name=…`, one declaration per line. */
export function renderType(
  name: string,
  schema: StandardSchema | JsonSchema,
  options: RenderTypeOptions = {},
): string {
  if (!isIdentifier(name))
    throw new TypeError(
      `Cannot declare type "${name}": its name is not an identifier, use letters and digits`,
    );
  const resolved = resolveOptions(options, DEFAULT_CHARACTERS);
  const { direction } = options;
  const most = Math.min(MOST_PARTS, resolved.maxCharacters);
  const use = readSchema(toJsonSchema(schema, direction ?? "input"), { direction, most });
  return (
    fit([{ use, name }], ({ declarations }) => declarations.join("\n"), resolved) ?? `type ${name}=unknown`
  );
}
