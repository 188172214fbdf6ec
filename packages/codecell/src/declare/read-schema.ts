/**
 * Read schema: turns JSON Schema (drafts 7 to 2020-12, OpenAPI 3.0 and 3.1) into nodes. Runs anywhere.
 *
 * - Never throws. A part that is not understood becomes `unknown`; a schema that allows nothing becomes `never`.
 * - Every schema object is read once, so references, sharing and cycles in memory cost nothing. The number of objects
 *   and their depth are bounded.
 * - Keywords of all dialects are read at the same time. They do not contradict each other, and few schemas name their
 *   dialect.
 */
import type { Direction } from "../contract/standard-schema.ts";
import { literalsOf, narrowed } from "./discriminator.ts";
import {
  type Definition,
  intersectionOf,
  NEVER,
  type Node,
  NULL,
  plain,
  textNode,
  unionOf,
  UNKNOWN,
  type Use,
} from "./node.ts";
import { docOf } from "./doc.ts";
import { toLiteral } from "./literal.ts";
import { readArray } from "./read-array.ts";
import { readObject } from "./read-object.ts";
import { isSchemaObject, own, type SchemaObject } from "../contract/schema-object.ts";
import { listOf, MOST_LISTED, nameInReference, References } from "./references.ts";

export interface ReadOptions {
  readonly direction: Direction | undefined;
  /** The most schema objects that are read. */
  readonly most: number;
}

/** A place in the schema. */
export interface SchemaPlace {
  readonly depth: number;
  /** How many fields and items enclose this place. A type may contain itself only inside a field or an item. */
  readonly guards: number;
  /** How many of these are fields. */
  readonly fields: number;
  /**
   * Whether an optional item lies between this place and the nearest field. The compiler resolves the types of optional
   * items at once.
   */
  readonly isEager: boolean;
}

interface OpenedReference {
  readonly index: number;
  readonly place: SchemaPlace;
  readonly hint: string | undefined;
  definition: Definition | undefined;
}

const MOST_LEVELS = 96;
/** Stands for a part that is not read, because a bound is reached. */
const CUT: Node = { kind: "text", text: "unknown/* …too deep or large */" };
/** A type that refers to nothing but itself, as `A` does in `type A = A | string`. */
const ITSELF: Node = { kind: "text", text: "unknown/* itself */" };

export function readSchema(schema: unknown, options: ReadOptions): Use {
  return new SchemaReader(schema, options).read(schema, { depth: 0, guards: 0, fields: 0, isEager: false });
}

export class SchemaReader {
  readonly direction: Direction | undefined;
  readonly #references: References;
  readonly #done = new Map<object, Use>();
  readonly #open = new Map<object, OpenedReference>();
  #left: number;
  /** The index of the outermost unfinished schema that the present result depends on. */
  #unfinished = Infinity;

  constructor(root: unknown, { direction, most }: ReadOptions) {
    this.#references = new References(root);
    this.direction = direction;
    this.#left = most;
  }

  /** Whether the bound on schema objects is reached. */
  get isSpent(): boolean {
    return this.#left <= 0;
  }

  read(schema: unknown, place: SchemaPlace, hint?: string): Use {
    if (schema === false) return plain(NEVER);
    if (!isSchemaObject(schema)) return plain(UNKNOWN);
    const done = this.#done.get(schema);
    if (done !== undefined) return done;
    const opened = this.#open.get(schema);
    if (opened !== undefined) return this.#readAgain(opened, place);
    if (place.depth > MOST_LEVELS || this.isSpent) return plain(CUT);
    this.#left--;
    return this.#readFirst(schema, place, hint ?? titleOf(schema));
  }

  readField(schema: unknown, { depth, guards, fields }: SchemaPlace): Use {
    const inside: SchemaPlace = { depth: depth + 1, guards: guards + 1, fields: fields + 1, isEager: false };
    return this.#readInside(schema, inside);
  }

  readItem(schema: unknown, place: SchemaPlace, isOptional: boolean, hint?: string): Use {
    const { depth, guards, fields, isEager } = place;
    const inside: SchemaPlace = {
      depth: depth + 1,
      guards: guards + 1,
      fields,
      isEager: isEager || isOptional,
    };
    return this.#readInside(schema, inside, hint);
  }

  #readInside(schema: unknown, place: SchemaPlace, hint?: string): Use {
    const use = this.read(schema, place, hint);
    return use.node === ITSELF ? plain(UNKNOWN) : use;
  }

  /** What the schema's reference points to; undefined without a reference or a target. */
  resolve(schema: unknown): unknown {
    const reference = isSchemaObject(schema) ? referenceOf(schema) : undefined;
    return reference === undefined ? undefined : this.#references.find(reference);
  }

  #readAgain(opened: OpenedReference, place: SchemaPlace): Use {
    if (opened.place.guards === place.guards) {
      this.#unfinished = Math.min(this.#unfinished, opened.index);
      return plain(ITSELF);
    }
    // The compiler would report that the type refers to itself.
    if (place.isEager && opened.place.fields === place.fields) return plain(UNKNOWN);
    opened.definition ??= { hint: opened.hint, body: UNKNOWN };
    return plain({ kind: "link", target: opened.definition });
  }

  #readFirst(schema: SchemaObject, place: SchemaPlace, hint: string | undefined): Use {
    const index = this.#open.size;
    const opened: OpenedReference = { index, place, hint, definition: undefined };
    this.#open.set(schema, opened);
    let use = this.#interpret(schema, place, hint);
    this.#open.delete(schema);
    if (opened.definition !== undefined) {
      opened.definition.body = use.node;
      use = { node: { kind: "link", target: opened.definition }, doc: use.doc };
    }
    if (this.#unfinished < index) return use;
    this.#unfinished = Infinity;
    if (use.node === ITSELF) use = plain(UNKNOWN);
    this.#done.set(schema, use);
    return use;
  }

  #interpret(schema: SchemaObject, place: SchemaPlace, hint: string | undefined): Use {
    const below: SchemaPlace = { ...place, depth: place.depth + 1 };
    const parts: Use[] = [];
    const reference = referenceOf(schema);
    if (reference !== undefined) {
      parts.push(this.read(this.#references.find(reference) ?? true, below, nameInReference(reference)));
    }
    for (const part of listOf(own(schema, "allOf"))) parts.push(this.read(part, below, hint));
    for (const keyword of ["anyOf", "oneOf"]) {
      if (Object.hasOwn(schema, keyword)) parts.push(this.#alternatives(schema, keyword, below, hint));
    }
    const inherited = parts.filter(({ node }) => node !== ITSELF);
    const used = inherited.filter(({ node }) => node !== UNKNOWN).map(({ node }) => plain(node));
    const base = this.#base(schema, place, hint, used.length > 0);
    const isNullable = own(schema, "nullable") === true;
    if (inherited.length < parts.length && used.length === 0 && base === undefined)
      return plain(isNullable ? NULL : ITSELF);
    const whole = intersectionOf([...used, ...(base === undefined ? [] : [base])], hint);
    const node = isNullable ? unionOf([whole, plain(NULL)], hint).node : whole.node;
    return { node, doc: docOf(schema, inherited) };
  }

  #alternatives(schema: SchemaObject, keyword: string, below: SchemaPlace, hint: string | undefined): Use {
    const literals = literalsOf(schema);
    const given = listOf(own(schema, keyword));
    if (given.length > MOST_LISTED) return plain(UNKNOWN);
    const uses = given.flatMap((option) => {
      const use = this.read(option, below);
      if (use.node === ITSELF) return [];
      const reference = isSchemaObject(option) ? referenceOf(option) : undefined;
      return literals === undefined ? use : narrowed(use, literals, reference);
    });
    return unionOf(uses, hint);
  }

  /** The part that the schema states itself, without its references and its `allOf`, `anyOf` and `oneOf`. */
  #base(
    schema: SchemaObject,
    place: SchemaPlace,
    hint: string | undefined,
    isComposed: boolean,
  ): Use | undefined {
    if (Object.hasOwn(schema, "const")) return literal(own(schema, "const"));
    const values = own(schema, "enum");
    if (Array.isArray(values)) return enumeration(listOf(values), hint);
    const type = own(schema, "type");
    const types = Array.isArray(type) ? listOf(type) : type === undefined ? impliedTypes(schema) : [type];
    const uses = types.slice(0, 16).map((name) => this.#ofType(name, schema, place, hint, isComposed));
    return uses.length === 0 ? undefined : unionOf(uses, hint);
  }

  #ofType(
    type: unknown,
    schema: SchemaObject,
    place: SchemaPlace,
    hint: string | undefined,
    isComposed: boolean,
  ): Use {
    switch (type) {
      case "string":
      case "number":
      case "boolean":
      case "null":
        return plain(textNode(type));
      case "integer":
        return plain(textNode("number"));
      case "array":
        return plain(readArray(this, schema, place, hint));
      case "object":
        return plain(readObject(this, schema, place, hint, isComposed));
      default:
        return plain(UNKNOWN);
    }
  }
}

function referenceOf(schema: SchemaObject): string | undefined {
  for (const keyword of ["$ref", "$dynamicRef", "$recursiveRef"]) {
    const reference = own(schema, keyword);
    if (typeof reference === "string") return reference;
  }
  return undefined;
}

const OBJECT_KEYWORDS = ["properties", "required", "patternProperties"];
const ARRAY_KEYWORDS = ["items", "prefixItems"];

/** Schemas often leave out a type that follows from their other keywords. */
function impliedTypes(schema: SchemaObject): readonly string[] {
  const isMap = isSchemaObject(own(schema, "additionalProperties"));
  if (isMap || OBJECT_KEYWORDS.some((keyword) => Object.hasOwn(schema, keyword))) return ["object"];
  return ARRAY_KEYWORDS.some((keyword) => Object.hasOwn(schema, keyword)) ? ["array"] : [];
}

function literal(value: unknown): Use {
  return plain(textNode(toLiteral(value)));
}

function enumeration(values: readonly unknown[], hint: string | undefined): Use {
  if (values.length <= MOST_LISTED) return unionOf(values.map(literal), hint);
  return plain(values.every((value) => typeof value === "string") ? textNode("string") : UNKNOWN);
}

function titleOf(schema: SchemaObject): string | undefined {
  const title = own(schema, "title");
  return typeof title === "string" && title.length <= 60 ? title : undefined;
}
