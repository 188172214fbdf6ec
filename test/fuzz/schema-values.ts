/** SchemaValues: random JSON Schemas, careless and hostile, with values that a program chooses. */
import { validatorOf } from "../../packages/codecell/src/calls/schema.ts";
import { LIMIT_BOUNDS } from "../../packages/codecell/src/contract/limits.ts";
import type { Case, Fuzzer } from "./fuzzer.ts";
import { KINDS, nastyJson } from "./nasty-values.ts";
import { Random } from "./random.ts";

const SIZE = LIMIT_BOUNDS.callInputBytes.default;
const DEEPEST = 4;

const PATTERNS = [
  "^(a+)+$",
  "^(\\w+\\s?)*$",
  "^(?:[a-z]+-?)*$",
  "^.*.*.*=.*$",
  "(x+x+)+y",
  "^[a-z]+(-[a-z]+)*$",
  "^k",
  "^(([a-z])+.)+[A-Z]([a-z])+$",
  "^(?=.*a)(?=.*b)(?=.*c).*$",
  "(a{1,50}){1,50}$",
];
const FORMATS = [
  "url",
  "uri",
  "uri-template",
  "email",
  "hostname",
  "regex",
  "ipv6",
  "date-time",
  "duration",
  "json-pointer",
];
const TYPES = ["string", "number", "integer", "object", "array", "null", "boolean"];

type Schema = Record<string, unknown>;
type Make = (random: Random, part: () => unknown) => unknown;

const several = (random: Random, part: () => unknown): unknown[] =>
  Array.from({ length: 1 + random.below(random.below(8) === 0 ? 40 : 3) }, part);

const KEYWORDS: Readonly<Record<string, Make>> = {
  type: (random) => (random.below(3) === 0 ? [random.pick(TYPES), random.pick(TYPES)] : random.pick(TYPES)),
  enum: (random) => Array.from({ length: 1 + random.below(500) }, (_, index) => ({ a: index })),
  const: () => ({ a: 0 }),
  properties: (_, part) => ({ a: part(), k1: part(), pattern: part() }),
  patternProperties: (random, part) => ({ [random.pick(PATTERNS)]: part() }),
  additionalProperties: (_, part) => part(),
  unevaluatedProperties: (_, part) => part(),
  propertyNames: (random) => ({ pattern: random.pick(PATTERNS) }),
  required: () => ["a"],
  dependentSchemas: (_, part) => ({ a: part() }),
  minProperties: () => 1,
  maxProperties: () => 1e6,
  items: (_, part) => part(),
  prefixItems: several,
  contains: (_, part) => part(),
  unevaluatedItems: (_, part) => part(),
  uniqueItems: () => true,
  minimum: () => -1e9,
  multipleOf: () => 0.1,
  minLength: () => 1,
  maxLength: () => 1e6,
  pattern: (random) => random.pick(PATTERNS),
  format: (random) => random.pick(FORMATS),
  allOf: several,
  anyOf: several,
  oneOf: several,
  not: (_, part) => part(),
  if: (_, part) => part(),
  else: (_, part) => part(),
  $ref: (random) => `#/$defs/${random.pick(["A", "B", "C"])}`,
};
const NAMES = Object.keys(KEYWORDS);

function nastySchema(random: Random, depth: number): Schema {
  const schema: Schema = {};
  for (let count = 1 + random.below(3); count > 0; count--) {
    const name = random.pick(NAMES);
    const part = (): unknown =>
      depth >= DEEPEST ? { $ref: `#/$defs/${random.pick(["A", "B", "C"])}` } : nastySchema(random, depth + 1);
    schema[name] = KEYWORDS[name]?.(random, part);
  }
  return schema;
}

export const schemaValues: Fuzzer = {
  name: "schema-values",
  caseOf: (seed): Case => {
    const kind = KINDS[seed % KINDS.length] ?? "";
    return {
      title: `JSON Schema, ${kind}`,
      // As in a first call: nothing is compiled yet.
      prepare: () => {
        const random = new Random(seed);
        const $defs = { A: nastySchema(random, 2), B: nastySchema(random, 2), C: nastySchema(random, 2) };
        const validate = validatorOf({ ...nastySchema(random, 0), $defs }, "input");
        const text = nastyJson(random, SIZE, kind);
        const value: unknown = JSON.parse(text);
        return () => validate(value, "input", () => Promise.resolve({ kind: "unknown" }), text);
      },
    };
  },
};
