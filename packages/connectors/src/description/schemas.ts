/**
 * Schemas: the schemas of a description as JSON Schema, each with what it refers to. Runs on a thread of its own.
 *
 * - What many refer to stays one part, `#/$defs/<name>`: schemas that contain themselves stay finite.
 * - Only keywords of JSON Schema are kept, and only where they have the form that they need: a faulty one would make the
 *   whole schema unusable. What refers to nothing means anything.
 */
import { isRecord } from "../web/text.ts";
import type { Words } from "./words.ts";

export type Node = Readonly<Record<string, unknown>>;

export interface SchemaWithParts {
  readonly schema: unknown;
  readonly parts: readonly number[];
}

const MAPS: ReadonlySet<string> = new Set(["properties", "patternProperties", "dependentSchemas"]);
const LISTS: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const SCHEMAS: ReadonlySet<string> = new Set([
  "items",
  "additionalProperties",
  "not",
  "if",
  "then",
  "else",
  "contains",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
]);
const NUMBERS: ReadonlySet<string> = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minContains",
  "maxContains",
]);
const TEXTS: ReadonlySet<string> = new Set([
  "title",
  "description",
  "format",
  "contentEncoding",
  "contentMediaType",
]);
const FLAGS: ReadonlySet<string> = new Set(["readOnly", "writeOnly", "deprecated", "uniqueItems"]);
const TYPES: ReadonlySet<unknown> = new Set([
  "null",
  "boolean",
  "object",
  "array",
  "number",
  "string",
  "integer",
]);
const DEEPEST = 200;
const MOST_HOPS = 50;

export class Schemas {
  readonly #document: Node;
  readonly #words: Words;
  readonly #numbers = new Map<string, number>();
  readonly #names = new Set<string>();
  readonly #targets: { readonly name: string; readonly target: unknown }[] = [];

  constructor(document: Node, words: Words) {
    this.#document = document;
    this.#words = words;
  }

  /** What a node that may be a reference stands for. Undefined if it refers to nothing. */
  resolve(node: unknown): Node | undefined {
    let found = node;
    for (let hops = 0; hops < MOST_HOPS; hops++) {
      if (!isRecord(found)) return undefined;
      const ref = found["$ref"];
      if (typeof ref !== "string") return found;
      found = this.#lookUp(ref);
    }
    return undefined;
  }

  /** A schema, its references turned into parts. */
  read(schema: unknown): SchemaWithParts {
    const parts = new Set<number>();
    return { schema: this.#clean(schema, parts, 0), parts: [...parts] };
  }

  /** Each part that was referred to, also by a part before it. */
  *parts(): Generator<SchemaWithParts & { readonly name: string }> {
    // Reading a part may add more.
    for (let at = 0; at < this.#targets.length; at++) {
      const { name, target } = this.#targets[at] as { readonly name: string; readonly target: unknown };
      yield { name, ...this.read(target) };
    }
  }

  #lookUp(ref: string): unknown {
    if (!ref.startsWith("#")) return undefined;
    let found: unknown = this.#document;
    for (const token of pointerOf(ref)) {
      if (typeof found !== "object" || found === null || !Object.hasOwn(found, token)) return undefined;
      found = (found as Node)[token];
    }
    return found;
  }

  #numberOf(ref: string): number | undefined {
    const known = this.#numbers.get(ref);
    if (known !== undefined) return known;
    const target = this.#lookUp(ref);
    if (!isRecord(target) && typeof target !== "boolean") return undefined;
    const number = this.#targets.push({ name: this.#nameFor(ref), target }) - 1;
    this.#numbers.set(ref, number);
    return number;
  }

  #nameFor(ref: string): string {
    const last = pointerOf(ref).at(-1) ?? "";
    const plain = this.#words
      .told(last)
      .replaceAll(/\W/gu, "_")
      .replace(/^(?=\d|$)/u, "_")
      .slice(0, 100);
    let name = plain;
    for (let count = 2; this.#names.has(name); count++) name = `${plain}_${count}`;
    this.#names.add(name);
    return name;
  }

  #clean(schema: unknown, parts: Set<number>, depth: number): unknown {
    if (typeof schema === "boolean") return schema;
    if (!isRecord(schema) || depth > DEEPEST) return {};
    const kept: [string, unknown][] = [];
    for (const [keyword, value] of Object.entries(schema)) {
      const clean = this.#cleanKeyword(keyword, value, parts, depth);
      if (clean !== undefined) kept.push([keyword, clean]);
    }
    return isBytesSchema(schema) ? bytesSchema(schema) : Object.fromEntries(kept);
  }

  #cleanKeyword(keyword: string, value: unknown, parts: Set<number>, depth: number): unknown {
    if (keyword === "$ref") return this.#reference(value, parts);
    if (MAPS.has(keyword)) {
      if (!isRecord(value)) return undefined;
      return Object.fromEntries(
        Object.entries(value).map(([key, part]) => [key, this.#clean(part, parts, depth + 1)]),
      );
    }
    if (LISTS.has(keyword)) {
      if (!Array.isArray(value) || value.length === 0) return undefined;
      return value.map((part: unknown) => this.#clean(part, parts, depth + 1));
    }
    if (SCHEMAS.has(keyword)) {
      return isRecord(value) || typeof value === "boolean" ? this.#clean(value, parts, depth + 1) : undefined;
    }
    return plainKeyword(keyword, value);
  }

  #reference(ref: unknown, parts: Set<number>): string | undefined {
    const number = typeof ref === "string" ? this.#numberOf(ref) : undefined;
    if (number === undefined) return undefined;
    parts.add(number);
    return `#/$defs/${(this.#targets[number] as { readonly name: string }).name}`;
  }
}

function pointerOf(ref: string): readonly string[] {
  const pointer = ref.slice(1);
  if (pointer === "") return [];
  return pointer
    .split("/")
    .slice(1)
    .map((token) => decode(token).replaceAll("~1", "/").replaceAll("~0", "~"));
}

function decode(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}

function plainKeyword(keyword: string, value: unknown): unknown {
  if (NUMBERS.has(keyword)) return typeof value === "number" ? value : undefined;
  if (TEXTS.has(keyword)) return typeof value === "string" ? value : undefined;
  if (FLAGS.has(keyword)) return typeof value === "boolean" ? value : undefined;
  switch (keyword) {
    case "type":
      return typeOf(value);
    case "enum":
      return Array.isArray(value) && value.length > 0 ? value : undefined;
    case "const":
    case "default":
      return value;
    case "required":
      return Array.isArray(value) ? value.filter((name) => typeof name === "string") : undefined;
    case "pattern":
      return typeof value === "string" && isPattern(value) ? value : undefined;
    default:
      return undefined;
  }
}

function typeOf(value: unknown): unknown {
  if (!Array.isArray(value)) return TYPES.has(value) ? value : undefined;
  const known = [...new Set(value.flat().filter((name) => TYPES.has(name)))];
  return known.length === 0 ? undefined : known;
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

/** Whether a value of the schema is bytes: a file, in the words of Swagger 2. */
export function isBytesSchema(schema: Node): boolean {
  const { type, format, contentMediaType, contentEncoding } = schema;
  if (type === "file" || (type === "string" && format === "binary")) return true;
  return type === undefined && typeof contentMediaType === "string" && contentEncoding === undefined;
}

/** Bytes are no JSON: the schema takes them all the same, as it takes text. */
function bytesSchema({ description, contentMediaType }: Node): Node {
  const said =
    typeof description === "string" && description !== ""
      ? `${description} (bytes, or text)`
      : "Bytes, or text";
  return {
    description: said,
    format: "binary",
    ...(typeof contentMediaType === "string" ? { contentMediaType } : {}),
  };
}
