/** Render type: one schema as a TypeScript type, with the types it needs. */
import type { JsonSchema, StandardSchema, Direction } from "../contract/standard-schema.ts";
import { fit } from "./fit.ts";
import { isIdentifier } from "./literal.ts";
import { type DeclareOptions, resolveOptions } from "./options.ts";
import { readSchema } from "./read-schema.ts";
import { toJsonSchema } from "./tool-schemas.ts";

export interface RenderTypeOptions extends DeclareOptions {
  /** "input" leaves out what is read-only, "output" what is write-only. Default: neither. */
  readonly direction?: Direction | undefined;
}

const DEFAULT_CHARACTERS = 40_000;
/** More parts of a schema than this are not read, however much may be written. */
const MOST_PARTS = 20_000;

/** `type Name=…`, one declaration a line. */
export function renderType(
  name: string,
  schema: StandardSchema | JsonSchema,
  options: RenderTypeOptions = {},
): string {
  if (!isIdentifier(name))
    throw new TypeError(
      `Cannot declare type "${name}": its name is no identifier, choose letters and digits`,
    );
  const resolved = resolveOptions(options, DEFAULT_CHARACTERS);
  const { direction } = options;
  const most = Math.min(MOST_PARTS, resolved.maxCharacters);
  const use = readSchema(toJsonSchema(schema, direction ?? "input"), { direction, most });
  return (
    fit([{ use, name }], ({ declarations }) => declarations.join("\n"), resolved) ?? `type ${name}=unknown`
  );
}
