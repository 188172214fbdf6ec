/**
 * Makes inputs for tools from their JSON Schemas. The same seed makes the same inputs.
 *
 * - Whether an input fits is for a judge to say: what few schemas say (`not`, `if`, …) is not looked at here.
 */
import fc from "fast-check";

type Schema = Readonly<Record<string, unknown>>;

/** Deeper down only what is required is made. */
const DEEPEST = 4;
/** A schema that contains itself as something required has no input. */
const TOO_DEEP = 40;

const WORDS = ["alpha", "beta", "gamma", "delta"];

export class InputGenerator {
  readonly #defs: Schema;
  #state: number;

  constructor(root: unknown, seed: number) {
    this.#defs = asSchema(asSchema(root)["$defs"]);
    this.#state = seed;
  }

  make(schema: unknown, depth = 0): unknown {
    const node = this.#resolved(schema, depth);
    if (depth > TOO_DEEP) return null;
    if ("const" in node) return node["const"];
    const { enum: choices } = node;
    if (Array.isArray(choices)) return this.#pick(choices as unknown[]);
    switch (this.#typeOf(node)) {
      case "object":
        return this.#object(node, depth);
      case "array":
        return this.#array(node, depth);
      case "string":
        return this.#string(node);
      case "integer":
        return this.#number(node, 1);
      case "number":
        return this.#number(node, 0);
      case "boolean":
        return this.#below(2) === 1;
      case "null":
        return null;
      case undefined:
      default:
        return this.#pick(WORDS);
    }
  }

  /** The schema with what it refers to, all parts that it has to fit, and one of those it may fit. */
  #resolved(schema: unknown, depth: number, hops = 0): Schema {
    const { $ref, allOf, anyOf, oneOf, ...own } = asSchema(schema);
    if (hops > TOO_DEEP) return own;
    const parts: unknown[] = [];
    if (typeof $ref === "string") parts.push(this.#defs[$ref.replace("#/$defs/", "")]);
    if (Array.isArray(allOf)) parts.push(...(allOf as unknown[]));
    for (const choices of [anyOf, oneOf])
      if (Array.isArray(choices)) parts.push(depth > DEEPEST ? choices[0] : this.#pick(choices as unknown[]));
    return parts.map((part) => this.#resolved(part, depth, hops + 1)).reduce(merged, own);
  }

  #typeOf(node: Schema): string | undefined {
    const { type, properties, items } = node;
    if (typeof type === "string") return type;
    if (Array.isArray(type)) {
      // Null is written in as many ways as there are formats of bodies, and says nothing new.
      const types = (type as unknown[]).filter((one) => one !== "null");
      return types.length === 0 ? "null" : String(this.#pick(types));
    }
    return properties === undefined ? (items === undefined ? undefined : "array") : "object";
  }

  #object({ properties, required, additionalProperties, minProperties }: Schema, depth: number): unknown {
    const all = Object.entries(asSchema(properties));
    const needed = new Set(Array.isArray(required) ? (required as string[]) : []);
    const made: Record<string, unknown> = {};
    for (const [name, part] of all) {
      if (needed.has(name) || (depth <= DEEPEST && this.#below(2) === 0))
        made[name] = this.make(part, depth + 1);
    }
    const least = typeof minProperties === "number" ? minProperties : 0;
    for (const [name, part] of all)
      if (Object.keys(made).length < least) made[name] ??= this.make(part, depth + 1);
    for (const name of needed) if (!(name in made)) made[name] = this.make(additionalProperties, depth + 1);
    if (additionalProperties !== false && all.length === 0)
      while (Object.keys(made).length < Math.max(least, 1))
        made[`key${Object.keys(made).length}`] = this.make(additionalProperties, depth + 1);
    return made;
  }

  #array({ items, prefixItems, minItems, maxItems, uniqueItems }: Schema, depth: number): unknown {
    const least = typeof minItems === "number" ? minItems : depth > DEEPEST ? 0 : 1;
    const most = typeof maxItems === "number" ? maxItems : least + 2;
    const count = Math.min(most, least + this.#below(2));
    const first: readonly unknown[] = Array.isArray(prefixItems) ? prefixItems : [];
    const made = Array.from({ length: Math.max(count, Math.min(first.length, most)) }, (_, at) =>
      this.make(first[at] ?? items, depth + 1),
    );
    if (uniqueItems !== true) return made;
    return [...new Map(made.map((item) => [JSON.stringify(item), item])).values()];
  }

  #string({ format, pattern, minLength, maxLength }: Schema): string {
    const shape = typeof pattern === "string" ? new RegExp(pattern, "u") : undefined;
    const formed = typeof format === "string" ? FORMATS[format] : undefined;
    if (formed !== undefined && shape?.test(formed) !== false) return formed;
    if (shape !== undefined) return this.#matching(shape);
    const least = typeof minLength === "number" ? minLength : 1;
    const most = typeof maxLength === "number" ? maxLength : Number.POSITIVE_INFINITY;
    let text = this.#pick(this.#below(4) === 0 ? ["ä b", "50% & more", "a=b;c", "x+y#z?"] : WORDS);
    while (text.length < least) text += this.#pick(WORDS);
    return text.slice(0, Math.max(most, least));
  }

  /** Preferably one that can stand anywhere: a slash in a path is refused before it is sent. */
  #matching(shape: RegExp): string {
    const texts = fc.sample(fc.stringMatching(shape), { seed: this.#next(), numRuns: 50 });
    return texts.find((text) => /^[\w.:-]+$/u.test(text)) ?? texts[0] ?? "";
  }

  #number(node: Schema, least: number): number {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = node;
    const step = typeof multipleOf === "number" ? multipleOf : 1;
    const from = Math.max(
      typeof minimum === "number" ? minimum : Number.NEGATIVE_INFINITY,
      typeof exclusiveMinimum === "number" ? exclusiveMinimum + step : Number.NEGATIVE_INFINITY,
    );
    const to = Math.min(
      typeof maximum === "number" ? maximum : Number.POSITIVE_INFINITY,
      typeof exclusiveMaximum === "number" ? exclusiveMaximum - step : Number.POSITIVE_INFINITY,
    );
    const start = Number.isFinite(from) ? from : Number.isFinite(to) && to < least ? to - 20 * step : least;
    return Math.min(to, Math.ceil(start / step) * step + this.#below(20) * step);
  }

  #pick<T>(from: readonly T[]): T {
    const picked = from[this.#below(from.length)];
    if (picked === undefined) throw new Error("Cannot pick from nothing");
    return picked;
  }

  #below(end: number): number {
    return (this.#next() >>> 0) % end;
  }

  /** Mulberry32. */
  #next(): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return mixed ^ (mixed >>> 14);
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  "date-time": "2024-02-29T12:00:00Z",
  date: "2024-02-29",
  time: "12:00:00Z",
  email: "somebody@example.com",
  "idn-email": "somebody@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/a?b=c",
  url: "https://example.com/a?b=c",
  "uri-reference": "/a?b=c",
  uuid: "3f2b1c4d-5e6f-4a7b-8c9d-0e1f2a3b4c5d",
  byte: "aGVsbG8=",
};

function asSchema(value: unknown): Schema {
  return typeof value === "object" && value !== null ? (value as Schema) : {};
}

function merged(one: Schema, other: Schema): Schema {
  const both: Record<string, unknown> = { ...one, ...other };
  if (one["properties"] !== undefined && other["properties"] !== undefined)
    both["properties"] = { ...asSchema(one["properties"]), ...asSchema(other["properties"]) };
  if (Array.isArray(one["required"]) && Array.isArray(other["required"]))
    both["required"] = [...new Set([...(one["required"] as string[]), ...(other["required"] as string[])])];
  return both;
}
