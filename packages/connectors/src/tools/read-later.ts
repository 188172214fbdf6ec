/**
 * Runs on the host. Schemas that are read when somebody needs them, as a catalog and a call take them.
 *
 * - A backend describes thousands of tools, and a program calls a few of them.
 */
import type { JsonSchema } from "codecell";
import { toLateSchema } from "codecell/kit";

/** A schema that says nothing accepts everything. */
export function readLater(read: () => JsonSchema | undefined): ReturnType<typeof toLateSchema> {
  const schema = (): JsonSchema => read() ?? true;
  return toLateSchema(schema, {
    version: 1,
    vendor: "codecell",
    // For code that knows Standard Schemas only: codecell itself reads the schema and judges by it.
    validate: () => {
      throw new TypeError(
        "Cannot validate by the schema of a backend's tool outside Codecell: read its JSON Schema",
      );
    },
    jsonSchema: { input: schema, output: schema },
  });
}
