/**
 * Read object: turns an object schema into fields and index signatures. Runs anywhere.
 *
 * - An index signature is wide enough for every field beside it; otherwise the type would not compile.
 */
import { quote } from "./literal.ts";
import {
  type Field,
  type Node,
  type ObjectNode,
  plain,
  textNode,
  unionOf,
  UNKNOWN,
  type Use,
} from "./node.ts";
import type { SchemaPlace, SchemaReader } from "./read-schema.ts";
import { isSchemaObject, own, type SchemaObject } from "../contract/schema-object.ts";
import { listOf } from "./references.ts";

const MOST_FIELDS = 2000;
const MOST_PATTERNS = 50;
/** An index signature repeats the types of the fields, if there are at most this many different types. */
const MOST_KINDS = 4;

type Index = ObjectNode["indexes"][number];

export function readObject(
  reader: SchemaReader,
  schema: SchemaObject,
  place: SchemaPlace,
  hint: string | undefined,
  isComposed: boolean,
): Node {
  const { fields, omitted, hasHidden } = readFields(reader, schema, place);
  const additional = own(schema, "additionalProperties") ?? own(schema, "unevaluatedProperties");
  if (omitted > 0) return { kind: "object", hint, fields, indexes: [], omitted };
  const indexes = readIndexes(reader, schema, additional, place, fields);
  if (fields.length > 0 || indexes.length > 0) return { kind: "object", hint, fields, indexes, omitted };
  if (isComposed) return UNKNOWN;
  return textNode(`Record<string,${additional === false || hasHidden ? "never" : "unknown"}>`);
}

interface Fields {
  readonly fields: readonly Field[];
  readonly omitted: number;
  /** Whether some fields were left out because of their direction. */
  readonly hasHidden: boolean;
}

function readFields(reader: SchemaReader, schema: SchemaObject, place: SchemaPlace): Fields {
  const properties = own(schema, "properties");
  const declared = isSchemaObject(properties) ? properties : {};
  const required = new Set(listOf(own(schema, "required")).filter((name) => typeof name === "string"));
  const declaredNames = Object.keys(declared);
  const names = new Set([...declaredNames, ...required, ...conditionalNames(schema)]);
  const fields: Field[] = [];
  let visited = 0;
  let hasHidden = false;
  for (const name of names) {
    if (reader.isSpent || fields.length >= MOST_FIELDS) break;
    visited++;
    const property = own(declared, name) ?? true;
    if (isHidden(reader, property)) hasHidden = true;
    else fields.push({ name, optional: !required.has(name), use: reader.readField(property, place) });
  }
  const omitted = names.size - visited;
  return { fields, omitted, hasHidden };
}

/** Fields that only a condition names. They may be present, and their type depends on the condition. */
function conditionalNames(schema: SchemaObject): readonly string[] {
  const dependent = own(schema, "dependentSchemas");
  const branches = [
    own(schema, "then"),
    own(schema, "else"),
    ...(isSchemaObject(dependent) ? Object.values(dependent).slice(0, MOST_FIELDS) : []),
  ];
  return branches.flatMap((branch) => {
    const properties = isSchemaObject(branch) ? own(branch, "properties") : undefined;
    return isSchemaObject(properties) ? Object.keys(properties) : [];
  });
}

function isHidden(reader: SchemaReader, schema: unknown): boolean {
  if (reader.direction === undefined || !isSchemaObject(schema)) return false;
  const keyword = reader.direction === "input" ? "readOnly" : "writeOnly";
  return [schema, reader.resolve(schema), ...listOf(own(schema, "allOf")).slice(0, MOST_PATTERNS)].some(
    (part) => isSchemaObject(part) && own(part, keyword) === true,
  );
}

function readIndexes(
  reader: SchemaReader,
  schema: SchemaObject,
  additional: unknown,
  place: SchemaPlace,
  fields: readonly Field[],
): readonly Index[] {
  const patterns = own(schema, "patternProperties");
  const entries = isSchemaObject(patterns) ? Object.entries(patterns).slice(0, MOST_PATTERNS) : [];
  const given = entries.map(([pattern, value]): Index => {
    const use = reader.readField(value, place);
    return { key: keyOf(pattern), use };
  });
  const isOpen = additional === true || isSchemaObject(additional);
  const [only] = given;
  if (!isOpen && only !== undefined && given.length === 1 && only.key !== "string") {
    const prefix = only.key.slice(1, only.key.indexOf("$"));
    if (!fields.some(({ name }) => name.startsWith(prefix))) return given;
  }
  const uses = [...given.map(({ use }) => use), ...(isOpen ? [reader.readField(additional, place)] : [])];
  return uses.length === 0 ? [] : [{ key: "string", use: wideEnough(uses, fields) }];
}

/** `^x-` stands for all names with that prefix; other patterns could match any name. */
function keyOf(pattern: string): string {
  const prefix = /^\^([\w\- .:@/]{1,40})(?:\.[*+])?$/u.exec(pattern)?.[1];
  if (prefix === undefined || /[.]/u.test(prefix)) return "string";
  return `\`${quote(prefix).slice(1, -1)}\${string}\``;
}

function wideEnough(uses: readonly Use[], fields: readonly Field[]): Use {
  const kinds = new Set(fields.map(({ use }) => use.node));
  if (kinds.size > MOST_KINDS || [...kinds].some(({ kind }) => kind !== "text")) return plain(UNKNOWN);
  const absent = fields.some(({ optional }) => optional) ? [plain(textNode("undefined"))] : [];
  return unionOf([...uses, ...[...kinds].map(plain), ...absent]);
}
