/**
 * Turns a schema into tools: one for each query and each mutation. Runs on a thread of its own.
 *
 * - A field that cannot be used is left out, and a problem says why: the others are there all the same.
 */
import {
  type GraphQLField,
  type GraphQLArgument,
  getNamedType,
  isCompositeType,
  isNonNullType,
  print,
} from "graphql";
import type { ToolText } from "../../description/messages.ts";
import { TextPieces } from "../../description/text-pieces.ts";
import { JsonSchemas, withReason } from "./json-schemas.ts";
import type { DescribedSchema, DescribeQuestion, FieldPlan, OperationKind } from "./messages.ts";
import type { ReadSchema } from "./read-schema.ts";
import { printSelection, select, type Selection } from "./select.ts";
import { nameFields } from "./tool-names.ts";

const LONGEST_TEXT = 20_000;
const MOST_TOOLS = 5000;
/** Of all plans and schemas. */
const MOST_TEXT_BYTES = 64_000_000;
/** A larger one is absent: nobody works with it. */
const MOST_SCHEMA_BYTES = 500_000;

interface Root {
  readonly kind: OperationKind;
  readonly name: string;
  readonly field: GraphQLField;
}

export function describe({ schema, words, hash }: ReadSchema, question: DescribeQuestion): DescribedSchema {
  const { depth, fields, queriesOnly, scalars } = question;
  const rootsOf = (kind: OperationKind): readonly Root[] => {
    const type = kind === "query" ? schema.getQueryType() : schema.getMutationType();
    return Object.values(type?.getFields() ?? {}).map((field) => ({ kind, name: field.name, field }));
  };
  const all = [...rootsOf("query"), ...(queriesOnly ? [] : rootsOf("mutation"))];
  const roots = all.slice(0, MOST_TOOLS);
  const names = nameFields(roots, words);
  const schemas = new JsonSchemas(schema, scalars, words);
  const text = new TextPieces(words);
  const tools: ToolText[] = [];
  for (const [at, root] of roots.entries()) {
    const { kind, field } = root;
    const type = getNamedType(field.type);
    const selection = isCompositeType(type) ? select(schema, type, { depth, fields }) : undefined;
    const description = withReason(field.description, field.deprecationReason);
    const plan = text.add(planOf(root, selection));
    const input = text.addSchema(schemas.input(field.args));
    const output = text.addSchema(schemas.output(field.type, selection));
    const [from, to] = output.range;
    if (to > MOST_TEXT_BYTES) break;
    tools.push({
      name: names[at] as string,
      description: words.cut(
        description ?? `The ${kind} "${field.name}", which gives ${String(field.type)}`,
        LONGEST_TEXT,
      ),
      isDeprecated: field.deprecationReason != null,
      // In the words of HTTP: what changes nothing, and what may.
      method: kind === "query" ? "GET" : "POST",
      plan,
      input,
      ...(to - from > MOST_SCHEMA_BYTES ? {} : { output }),
    });
  }
  const left = all.length - tools.length;
  return {
    title: "",
    version: "",
    tools,
    types: Object.keys(schema.getTypeMap()).length,
    parts: Array.from(schemas.parts(), ({ name, ...part }) => ({ name, ...text.addSchema(part) })),
    text: text.bytes(),
    problems:
      left === 0
        ? []
        : [`${left} queries and mutations are no tools: the schema has too many, or too large ones`],
    hash,
  };
}

function planOf({ kind, field }: Root, selection: Selection | undefined): FieldPlan {
  const { name, args } = field;
  const variables = args.length === 0 ? "" : `(${args.map(variableOf).join(", ")})`;
  const given = args.length === 0 ? "" : `(${args.map((arg) => `${arg.name}: $${arg.name}`).join(", ")})`;
  const selected = selection === undefined ? "" : ` ${printSelection(selection)}`;
  return {
    kind,
    field: name,
    document: `${kind} ${name}${variables} { ${name}${given}${selected} }`,
    arguments: args.map((arg) => arg.name),
  };
}

/** A variable that is not given leaves its argument to the backend, unless null is not allowed there. */
function variableOf({ name, type, default: value }: GraphQLArgument): string {
  const literal = isNonNullType(type) ? value?.literal : undefined;
  return `$${name}: ${String(type)}${literal === undefined ? "" : ` = ${print(literal)}`}`;
}
