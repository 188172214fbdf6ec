/** Random schemas: nonsense of all kinds, and sensible ones together with values that fit them. */
import fc from "fast-check";

type Schema = Readonly<Record<string, unknown>>;

/** Appears in every random text, so that it is found wherever it should not be. */
export const MARK = "PWN";

const NAMES = [
  "a",
  "b",
  "x-y",
  "__proto__",
  "constructor",
  "get",
  "new",
  "2",
  "",
  "a\nb",
  'q"',
  "*/",
  "\u2028",
  "naïve",
];
const REFERENCES = [
  "#",
  "#/$defs/A",
  "#/$defs/B",
  "#/definitions/C",
  "#/properties/a",
  "#anchor",
  "#/nowhere",
  "other.json",
  "#/%E0",
];

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }).map((one) => `${MARK}${one}${MARK}`),
  fc.constantFrom(
    `*/ ${MARK} /*`,
    `**/${MARK}`,
    `/* ${MARK} *`,
    `\n// ${MARK}\r\u2028${MARK}`,
    `@ts-expect-error ${MARK}`,
    `[${MARK}*](x)/`,
    `*<b>/ ${MARK}`,
    `*\`/\` ${MARK}`,
    `\`\${${MARK}}\``,
    `\\u002a/ ${MARK} *\u202E/`,
  ),
);
const name = fc.oneof(fc.constantFrom(...NAMES), fc.string({ unit: "binary", maxLength: 4 }));
const nonsense = fc.anything({ maxDepth: 1, withNullPrototype: true, withSparseArray: true });
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 9, arbitrary }, { weight: 1, arbitrary: nonsense });
const typeName = fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object", "file");
const number = fc.oneof(fc.integer(), fc.double(), fc.boolean());

/** A few of many keywords. */
function someOf(keywords: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<unknown> {
  const pairs = Object.entries(keywords).map(([key, value]) => fc.tuple(fc.constant(key), value));
  return fc
    .array(fc.oneof(...pairs), { minLength: 1, maxLength: 5 })
    .map((chosen) => Object.fromEntries(chosen));
}

/** Anything that is an object with some keywords. */
export const anySchema: fc.Arbitrary<unknown> = fc.letrec<{ schema: unknown; keywords: unknown }>((tie) => {
  const schema = tie("schema");
  const schemas = fc.array(schema, { maxLength: 3 });
  const named = fc.dictionary(name, schema, { maxKeys: 4 });
  return {
    schema: fc.oneof(
      { maxDepth: 4, depthIdentifier: "schema" },
      { weight: 1, arbitrary: fc.oneof(fc.boolean(), nonsense) },
      { weight: 8, arbitrary: tie("keywords") },
    ),
    keywords: someOf({
      type: maybe(fc.oneof({ weight: 3, arbitrary: typeName }, { weight: 1, arbitrary: fc.array(typeName) })),
      properties: maybe(named),
      required: maybe(fc.array(name, { maxLength: 3 })),
      additionalProperties: maybe(fc.oneof(fc.boolean(), schema)),
      patternProperties: maybe(
        fc.dictionary(fc.constantFrom("^x-", "^`$", ".*", "^a", "("), schema, { maxKeys: 2 }),
      ),
      items: maybe(fc.oneof(schema, schemas)),
      prefixItems: maybe(schemas),
      additionalItems: maybe(schema),
      minItems: maybe(fc.nat(3)),
      maxItems: maybe(fc.nat(3)),
      allOf: maybe(schemas),
      anyOf: maybe(schemas),
      oneOf: maybe(schemas),
      enum: maybe(fc.array(fc.oneof(fc.jsonValue({ maxDepth: 2 }), text), { maxLength: 4 })),
      const: maybe(fc.jsonValue({ maxDepth: 2 })),
      $ref: maybe(fc.constantFrom(...REFERENCES)),
      $defs: maybe(fc.dictionary(fc.constantFrom("A", "B"), schema)),
      definitions: maybe(fc.dictionary(fc.constantFrom("C"), schema)),
      $anchor: fc.constant("anchor"),
      nullable: fc.boolean(),
      readOnly: fc.boolean(),
      writeOnly: fc.boolean(),
      description: maybe(text),
      title: maybe(text),
      format: maybe(text),
      pattern: maybe(text),
      default: maybe(fc.oneof(text, fc.jsonValue({ maxDepth: 1 }))),
      minimum: maybe(number),
      exclusiveMaximum: maybe(number),
      maxLength: maybe(fc.nat()),
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: maybe(schema),
      discriminator: maybe(
        fc.record({ propertyName: name, mapping: fc.dictionary(text, fc.constantFrom(...REFERENCES)) }),
      ),
    }),
  };
}).schema;

const FIELDS = ["a", "b", "c-d", "e"] as const;

/** A schema one can find values for. */
export const plainSchema: fc.Arbitrary<Schema> = fc.letrec<{ schema: Schema }>((tie) => {
  const schema = tie("schema");
  const described = <T extends Schema>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<Schema> =>
    fc
      .tuple(arbitrary, fc.option(text), fc.boolean())
      .map(([one, description, nullable]) =>
        Object.assign({}, one, description === null ? {} : { description }, nullable ? { nullable } : {}),
      );
  const object = fc
    .record({
      properties: fc.dictionary(fc.constantFrom(...FIELDS), schema, { maxKeys: 3 }),
      required: fc.subarray([...FIELDS]),
      additionalProperties: fc.oneof(fc.boolean(), schema),
    })
    .map(({ properties, required, additionalProperties }) => ({
      type: "object",
      properties,
      required: required.filter((one) => Object.hasOwn(properties, one)),
      additionalProperties,
    }));
  return {
    schema: described(
      fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom("string", "integer", "boolean").map((type) => ({ type })),
        fc
          .uniqueArray(fc.constantFrom("x", "y", 1, true, null), { minLength: 1 })
          .map((values) => ({ enum: values })),
        fc.jsonValue({ maxDepth: 2 }).map((value) => ({ const: value })),
        fc.constantFrom("A", "B").map((one) => ({ $ref: `#/$defs/${one}` })),
        schema.map((items) => ({ type: "array", items })),
        fc
          .tuple(fc.array(schema, { minLength: 1, maxLength: 3 }), fc.nat(3))
          .map(([prefixItems, minItems]) => ({ type: "array", prefixItems, minItems, items: false })),
        object,
        fc.array(schema, { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
      ),
    ),
  };
}).schema;

/** Values that fit, made from the schema; `fuel` ends recursion. */
export function valueOf(schema: Schema, root: Schema, fuel = 6): fc.Arbitrary<unknown> {
  const bare =
    schema["nullable"] === true && fuel <= 0 ? fc.constant(null) : bareValueOf(schema, root, fuel - 1);
  return schema["nullable"] === true ? fc.option(bare) : bare;
}

function bareValueOf(schema: Schema, root: Schema, fuel: number): fc.Arbitrary<unknown> {
  const inside = (one: unknown): fc.Arbitrary<unknown> => valueOf(one as Schema, root, fuel);
  if ("const" in schema) return fc.constant(schema["const"]);
  if ("enum" in schema) return fc.constantFrom(...(schema["enum"] as unknown[]));
  if ("$ref" in schema) {
    const target = (root["$defs"] as Schema)[String(schema["$ref"]).slice("#/$defs/".length)];
    return inside(target);
  }
  if ("anyOf" in schema) return fc.oneof(...(schema["anyOf"] as unknown[]).map(inside));
  switch (schema["type"]) {
    case "string":
      return fc.string({ maxLength: 4 });
    case "integer":
      return fc.integer();
    case "boolean":
      return fc.boolean();
    case "array": {
      if (!("prefixItems" in schema))
        return fc.array(inside(schema["items"]), { maxLength: fuel > 0 ? 2 : 0 });
      const items = (schema["prefixItems"] as unknown[]).map(inside);
      return fc.tuple(...items).chain((all) => {
        const least = Math.min(Number(schema["minItems"]), all.length);
        return fc.integer({ min: least, max: all.length }).map((length) => all.slice(0, length));
      });
    }
    default: {
      const required = schema["required"] as string[];
      const entries = Object.entries(schema["properties"] as Schema).filter(
        ([field]) => fuel > 0 || required.includes(field),
      );
      const fields = Object.fromEntries(entries.map(([field, one]) => [field, inside(one)]));
      return fc.record(fields, { requiredKeys: required });
    }
  }
}
