/** What every tool of a GraphQL connector gives: data, and why parts of it are null. Runs anywhere. */
export type SchemaNode = Readonly<Record<string, unknown>>;

const ERRORS: SchemaNode = {
  description: "Why parts of the data are null",
  type: "array",
  items: {
    type: "object",
    properties: { message: { type: "string" }, path: { type: "array" } },
    required: ["message"],
  },
};

/** `data` is its JSON Schema. */
export function envelopeOf(data: unknown): SchemaNode {
  return {
    type: "object",
    properties: { data, errors: ERRORS },
    required: ["data"],
    additionalProperties: false,
  };
}
