/**
 * JsonSchemas: types of a GraphQL schema as JSON Schema. Runs on a thread of its own.
 *
 * - Input objects and enums are parts, `#/$defs/<type>`: types that contain themselves stay finite.
 * - What may be null takes null. A scalar that nobody describes takes and gives anything.
 */
import type { JsonSchema } from "codecell";
import {
  type GraphQLArgument,
  type GraphQLEnumType,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLScalarType,
  type GraphQLSchema,
  type GraphQLType,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredArgument,
  isRequiredInputField,
  isScalarType,
  valueFromASTUntyped,
} from "graphql";
import type { SchemaWithParts } from "../../description/schemas.ts";
import type { Words } from "../../description/words.ts";
import { isRecord } from "../../web/text.ts";
import { envelopeOf, type SchemaNode } from "../envelope.ts";
import type { Selection } from "./select.ts";

/** Of a field or an argument, which many tools may have. */
const LONGEST_SAID = 4000;
const LONGEST_DEFAULT = 1000;
/** It is told wherever the scalar is used. */
const LONGEST_SCALAR = 200;
/** Lists in lists: what is deeper may be anything. */
const DEEPEST_LIST = 20;
/** More are not told one by one. */
const MOST_TYPE_NAMES = 50;

type Node = SchemaNode;
type Input = GraphQLArgument | GraphQLInputField;

/** What the backend takes and gives for the scalars of every schema. */
const INPUTS: Readonly<Record<string, Node>> = {
  Int: { type: "integer" },
  Float: { type: "number" },
  String: { type: "string" },
  Boolean: { type: "boolean" },
  ID: { type: ["string", "integer"] },
};
const OUTPUTS: Readonly<Record<string, Node>> = { ...INPUTS, ID: { type: "string" } };

export class JsonSchemas {
  readonly #schema: GraphQLSchema;
  readonly #scalars: Readonly<Record<string, JsonSchema>>;
  readonly #words: Words;
  readonly #numbers = new Map<string, number>();
  readonly #types: (GraphQLEnumType | GraphQLInputObjectType)[] = [];

  /** `scalars` describes some that the schema defines. */
  constructor(schema: GraphQLSchema, scalars: Readonly<Record<string, JsonSchema>>, words: Words) {
    this.#words = words;
    this.#schema = schema;
    this.#scalars = scalars;
  }

  /** Of an object with these arguments. */
  input(args: readonly GraphQLArgument[]): SchemaWithParts {
    const parts = new Set<number>();
    return { schema: this.#object(args, isRequiredArgument, parts), parts: [...parts] };
  }

  /** Of what a generated tool gives. */
  output(type: GraphQLOutputType, selection: Selection | undefined): SchemaWithParts {
    const parts = new Set<number>();
    const data = this.#read(type, (named) => this.#given(named, selection, parts));
    return { schema: envelopeOf(data), parts: [...parts] };
  }

  /** Each part that was referred to, also by a part before it. */
  *parts(): Generator<SchemaWithParts & { readonly name: string }> {
    // Reading a part may add more.
    for (const type of this.#types) {
      const parts = new Set<number>();
      const schema = isEnumType(type) ? enumSchema(type, this.#words) : this.#inputObject(type, parts);
      yield { name: this.#words.told(type.name), schema, parts: [...parts] };
    }
  }

  #read(type: GraphQLType, named: (type: GraphQLNamedType) => unknown, depth = 0): unknown {
    if (isNonNullType(type)) return this.#readPresent(type.ofType, named, depth);
    return nullable(this.#readPresent(type, named, depth));
  }

  #readPresent(type: GraphQLType, named: (type: GraphQLNamedType) => unknown, depth: number): unknown {
    if (!isListType(type)) return named(getNamedType(type));
    return depth === DEEPEST_LIST ? {} : { type: "array", items: this.#read(type.ofType, named, depth + 1) };
  }

  #taken(type: GraphQLNamedType, parts: Set<number>): unknown {
    if (isScalarType(type)) return this.#scalar(type, INPUTS);
    return isEnumType(type) || isInputObjectType(type) ? this.#reference(type, parts) : {};
  }

  #given(type: GraphQLNamedType, selection: Selection | undefined, parts: Set<number>): unknown {
    if (isScalarType(type)) return this.#scalar(type, OUTPUTS);
    // An API may have values that its schema had not when it was read.
    if (isEnumType(type)) return { anyOf: [this.#reference(type, parts), { type: "string" }] };
    return selection === undefined ? {} : this.#selected(selection, parts);
  }

  #scalar(type: GraphQLScalarType, known: Readonly<Record<string, Node>>): unknown {
    const own = Object.hasOwn(this.#scalars, type.name) ? this.#scalars[type.name] : undefined;
    if (own !== undefined) return own;
    if (Object.hasOwn(known, type.name)) return known[type.name];
    const { name, description, specifiedByURL } = type;
    const said = [name, description ?? undefined, specifiedByURL ?? undefined].filter(
      (text) => text !== undefined,
    );
    return { description: this.#words.cut(said.join(": ").trim(), LONGEST_SCALAR) };
  }

  #reference(type: GraphQLEnumType | GraphQLInputObjectType, parts: Set<number>): Node {
    let number = this.#numbers.get(type.name);
    if (number === undefined) {
      number = this.#types.push(type) - 1;
      this.#numbers.set(type.name, number);
    }
    parts.add(number);
    return { $ref: `#/$defs/${type.name}` };
  }

  #inputObject(type: GraphQLInputObjectType, parts: Set<number>): Node {
    const fields = Object.values(type.getFields());
    const object = this.#object(fields, isRequiredInputField, parts);
    return {
      ...described(object, type.description, this.#words),
      ...(type.isOneOf ? { minProperties: 1, maxProperties: 1 } : {}),
    };
  }

  #object<One extends Input>(
    inputs: readonly One[],
    isRequired: (input: One) => boolean,
    parts: Set<number>,
  ): Node {
    const required = inputs.filter(isRequired).map(({ name }) => name);
    return {
      type: "object",
      properties: Object.fromEntries(inputs.map((input) => [input.name, this.#property(input, parts)])),
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: false,
    };
  }

  #property(input: Input, parts: Set<number>): unknown {
    const schema = this.#read(input.type, (named) => this.#taken(named, parts));
    if (!isRecord(schema)) return schema;
    const value = defaultOf(input);
    return { ...toldOf(schema, input, this.#words), ...(value === undefined ? {} : { default: value }) };
  }

  #typename(type: Selection["type"]): Node {
    const possible = isAbstractType(type) ? this.#schema.getPossibleTypes(type) : [type];
    if (possible.length > MOST_TYPE_NAMES) return { type: "string" };
    return { anyOf: [{ type: "string", enum: possible.map(({ name }) => name) }, { type: "string" }] };
  }

  /** Of the objects of which fields were selected. What only some types have may be absent. */
  #selected({ type, fields, fragments }: Selection, parts: Set<number>): Node {
    const properties = new Map<string, unknown>();
    const hasTypename = isAbstractType(type) || fields.length === 0;
    if (hasTypename) properties.set("__typename", this.#typename(type));
    for (const { key, field, selection } of [
      ...fields,
      ...fragments.flatMap((fragment) => fragment.fields),
    ]) {
      if (properties.has(key)) continue;
      const schema = this.#read(field.type, (named) => this.#given(named, selection, parts));
      properties.set(key, isRecord(schema) ? toldOf(schema, field, this.#words) : schema);
    }
    const required = [...(hasTypename ? ["__typename"] : []), ...fields.map(({ key }) => key)];
    return { type: "object", properties: Object.fromEntries(properties), required };
  }
}

function enumSchema(type: GraphQLEnumType, words: Words): Node {
  const values = type.getValues();
  const said = values.flatMap(({ name, description, deprecationReason }) => {
    const text = withReason(description, deprecationReason);
    return text === undefined ? [] : [`${name}: ${text}`];
  });
  const text = [type.description ?? undefined, ...said].filter((one) => one !== undefined).join("\n");
  const schema = { type: "string", enum: values.map(({ name }) => name) };
  return described(schema, text === "" ? undefined : text, words);
}

function nullable(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const { type } = schema;
  if (typeof type === "string" && schema["enum"] === undefined) return { ...schema, type: [type, "null"] };
  if (Array.isArray(type) && schema["enum"] === undefined) {
    return { ...schema, type: [...new Set<unknown>([...(type as unknown[]), "null"])] };
  }
  const { anyOf } = schema;
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...(anyOf as unknown[]), { type: "null" }] };
  const takesAnything = Object.keys(schema).every((key) => key === "description");
  return takesAnything ? schema : { anyOf: [schema, { type: "null" }] };
}

interface Told {
  readonly description?: string | null | undefined;
  readonly deprecationReason?: string | null | undefined;
}

function toldOf(schema: Node, { description, deprecationReason }: Told, words: Words): Node {
  const told = described(schema, withReason(description, deprecationReason), words);
  return deprecationReason == null ? told : { ...told, deprecated: true };
}

/** A scalar says what it is, whatever it is used for. */
function described(schema: Node, text: string | null | undefined, words: Words): Node {
  if (text == null || text === "") return schema;
  const { description: own } = schema;
  const said = words.cut(text.trim(), LONGEST_SAID);
  return { ...schema, description: typeof own === "string" ? `${said} (${own})` : said };
}

/** A description, and why something should not be used any more. */
export function withReason(
  description: string | null | undefined,
  reason: string | null | undefined,
): string | undefined {
  const parts = [description ?? "", reason == null ? "" : `Deprecated: ${reason}`].filter(
    (part) => part !== "",
  );
  return parts.length === 0 ? undefined : parts.join("\n").trim();
}

function defaultOf({ default: given }: Input): unknown {
  if (given === undefined) return undefined;
  const value: unknown = given.literal === undefined ? given.value : valueFromASTUntyped(given.literal);
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined || text.length > LONGEST_DEFAULT ? undefined : value;
}
