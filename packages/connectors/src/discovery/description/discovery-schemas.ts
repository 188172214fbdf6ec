/**
 * Turns the schemas of a Discovery document into JSON Schema. Runs on a thread of its own.
 *
 * - A schema with properties that only the API writes has a second form, for inputs, without them.
 * - What a program would have to guess is said in words: patterns, what the values of an enum mean, which methods need a
 *   property.
 */
import type { Node } from "../../description/schemas.ts";
import type { Words } from "../../description/words.ts";
import { isRecord } from "../../web/text.ts";

export type Side = "input" | "output";

const DEEPEST = 100;
const LONGEST_TEXT = 20_000;
/** Formats of numbers that JSON cannot carry: they are texts. */
const LARGE: ReadonlySet<unknown> = new Set(["int64", "uint64"]);

export class DiscoverySchemas {
  readonly #schemas: Node;
  readonly #words: Words;
  /** Schemas that have what only the API writes, themselves or through others. */
  readonly #twofold: ReadonlySet<string>;

  constructor(schemas: unknown, words: Words) {
    this.#words = words;
    this.#schemas = isRecord(schemas) ? schemas : {};
    this.#twofold = twofoldOf(this.#schemas);
  }

  /** What all references lead to, as one document. */
  document(): Node {
    const names = Object.keys(this.#schemas);
    const forms = (side: Side, of: readonly string[]): readonly (readonly [string, unknown])[] =>
      of.map((name) => [this.#nameOf(name, side), this.read(this.#schemas[name], side)] as const);
    return {
      output: Object.fromEntries(forms("output", names)),
      input: Object.fromEntries(
        forms(
          "input",
          names.filter((name) => this.#twofold.has(name)),
        ),
      ),
    };
  }

  /** The schema with this name, or undefined if there is none. */
  resolve(name: unknown): Node | undefined {
    const found =
      typeof name === "string" && Object.hasOwn(this.#schemas, name) ? this.#schemas[name] : undefined;
    return isRecord(found) ? found : undefined;
  }

  read(node: unknown, side: Side): Node {
    return this.#read(node, side, 0);
  }

  #nameOf(name: string, side: Side): string {
    return side === "input" && this.#twofold.has(name) ? `${name}Input` : name;
  }

  #reference(name: string, side: Side): string {
    const own = side === "input" && this.#twofold.has(name) ? "input" : "output";
    const token = this.#nameOf(name, side).replaceAll("~", "~0").replaceAll("/", "~1").toWellFormed();
    return `#/${own}/${encodeURIComponent(token)}`;
  }

  #read(node: unknown, side: Side, depth: number): Node {
    if (!isRecord(node) || depth > DEEPEST) return {};
    const description = this.#words.cut(wordsOf(node, side), LONGEST_TEXT);
    const said = description === "" ? {} : { description };
    const { $ref } = node;
    if (typeof $ref === "string") return { $ref: this.#reference($ref, side), ...said };
    if (node["repeated"] === true) {
      const { repeated: _1, description: _2, required: _3, ...item } = node;
      return { type: "array", items: this.#read(item, side, depth + 1), ...said };
    }
    return { ...this.#typed(node, side, depth), ...said, ...(node["deprecated"] === true ? DEPRECATED : {}) };
  }

  #typed(node: Node, side: Side, depth: number): Node {
    const { type, format, items } = node;
    switch (type) {
      case "object":
        return this.#object(node, side, depth);
      case "array":
        return { type, items: this.#read(items, side, depth + 1) };
      case "integer":
      case "number":
      case "boolean":
      case "string":
        return { type, ...(typeof format === "string" ? { format } : {}), ...boundsOf(node, type) };
      default:
        return isRecord(node["properties"]) ? this.#object(node, side, depth) : {};
    }
  }

  #object({ properties, additionalProperties, variant }: Node, side: Side, depth: number): Node {
    const entries = Object.entries(isRecord(properties) ? properties : {}).filter(
      (one): one is [string, Node] => isRecord(one[1]) && (side === "output" || one[1]["readOnly"] !== true),
    );
    const required = entries.filter(([, property]) => property["required"] === true).map(([name]) => name);
    const read = entries.map(([name, property]) => [name, this.#read(property, side, depth + 1)] as const);
    return {
      type: "object",
      ...(read.length === 0 ? {} : { properties: Object.fromEntries(read) }),
      ...(required.length === 0 || side === "output" ? {} : { required }),
      ...(isRecord(additionalProperties)
        ? { additionalProperties: this.#read(additionalProperties, side, depth + 1) }
        : {}),
      ...this.#variants(variant, side),
    };
  }

  /** Which of several schemas it is, one of its properties says. */
  #variants(variant: unknown, side: Side): Node {
    const { discriminant, map } = isRecord(variant) ? variant : {};
    if (typeof discriminant !== "string" || !Array.isArray(map)) return {};
    const anyOf = map.filter(isRecord).flatMap(({ type_value: value, $ref }) =>
      typeof value === "string" && typeof $ref === "string"
        ? [
            {
              $ref: this.#reference($ref, side),
              properties: { [discriminant]: { const: value } },
              required: [discriminant],
            },
          ]
        : [],
    );
    return anyOf.length === 0 ? {} : { anyOf };
  }
}

const DEPRECATED = { deprecated: true } as const;

/** Bounds, values and defaults are texts in a Discovery document, whatever the type is. */
function boundsOf(node: Node, type: "integer" | "number" | "boolean" | "string"): Node {
  const { minimum, maximum, enum: values, default: preset } = node;
  const isNumber = type === "integer" || type === "number";
  const said = Array.isArray(values) ? values.map((value) => valueOf(value, type)) : [];
  const known = said.filter((value) => value !== undefined);
  const bounds = {
    minimum: isNumber ? valueOf(minimum, type) : undefined,
    maximum: isNumber ? valueOf(maximum, type) : undefined,
    enum: known.length === 0 ? undefined : [...new Set(known)],
    default: valueOf(preset, type),
  };
  return Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined));
}

function valueOf(value: unknown, type: string): string | number | boolean | undefined {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return undefined;
  const text = String(value).trim();
  switch (type) {
    case "boolean":
      return text === "true" || text === "false" ? text === "true" : undefined;
    case "integer":
    case "number":
      return text !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
    default:
      return String(value);
  }
}

function wordsOf(node: Node, side: Side): string {
  const { description, pattern, format, minimum, maximum, annotations } = node;
  const parts = [typeof description === "string" ? description.trim() : "", ...enumWords(node)];
  if (typeof pattern === "string" && pattern !== "") parts.push(`Pattern: ${pattern}`);
  if (LARGE.has(format)) {
    if (typeof minimum === "string") parts.push(`At least ${minimum}.`);
    if (typeof maximum === "string") parts.push(`At most ${maximum}.`);
  }
  const needing = isRecord(annotations) && side === "input" ? annotations["required"] : undefined;
  if (Array.isArray(needing) && needing.length > 0) parts.push(`Required by ${needing.join(", ")}.`);
  return parts.filter((part) => part !== "").join("\n");
}

function enumWords({ enum: values, enumDescriptions: said, enumDeprecated: old }: Node): readonly string[] {
  if (!Array.isArray(values)) return [];
  return values.flatMap((value: unknown, at): string[] => {
    const words: unknown = Array.isArray(said) ? said[at] : undefined;
    const isOld = Array.isArray(old) && old[at] === true;
    if ((typeof words !== "string" || words === "") && !isOld) return [];
    return [`- ${String(value)}: ${isOld ? "(deprecated) " : ""}${typeof words === "string" ? words : ""}`];
  });
}

function twofoldOf(schemas: Node): ReadonlySet<string> {
  const found = new Set<string>();
  const referring = new Map<string, string[]>();
  for (const [name, schema] of Object.entries(schemas)) {
    const { references, isWrittenByApi } = lookThrough(schema);
    if (isWrittenByApi) found.add(name);
    for (const reference of references) {
      const known = referring.get(reference);
      if (known === undefined) referring.set(reference, [name]);
      else known.push(name);
    }
  }
  // What is added on the way is visited too.
  for (const name of found) for (const other of referring.get(name) ?? []) found.add(other);
  return found;
}

function lookThrough(schema: unknown): {
  readonly references: ReadonlySet<string>;
  readonly isWrittenByApi: boolean;
} {
  const references = new Set<string>();
  let isWrittenByApi = false;
  const open: unknown[] = [schema];
  while (open.length > 0) {
    const node = open.pop();
    if (typeof node !== "object" || node === null) continue;
    const { $ref, readOnly } = node as Node;
    if (typeof $ref === "string") references.add($ref);
    if (readOnly === true) isWrittenByApi = true;
    for (const part of Object.values(node)) open.push(part);
  }
  return { references, isWrittenByApi };
}
