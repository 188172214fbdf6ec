/**
 * Document: a schema as a whole: which of its parts have names, and what its references mean. Runs anywhere.
 *
 * - Nothing outside the document is fetched. A reference to another document is a fault of the schema.
 * - Each part is visited once, without recursion, because a schema may come from anywhere.
 */
import { isSchemaObject, own, type SchemaObject } from "../contract/schema-object.ts";
import { type Scope, SchemaFault } from "./judging.ts";

export type Draft = 4 | 7 | 2019 | 2020;

/** A keyword with a value of the wrong kind is a fault. To ignore it would drop a constraint that the author meant. */
function typed<T>(schema: SchemaObject, key: string, is: (value: unknown) => value is T): T | undefined {
  const value = own(schema, key);
  if (value === undefined || is(value)) return value;
  throw new SchemaFault();
}

export function listIn(schema: SchemaObject, key: string): readonly unknown[] | undefined {
  return typed(schema, key, (value): value is readonly unknown[] => Array.isArray(value));
}

export function numberIn(schema: SchemaObject, key: string): number | undefined {
  return typed(schema, key, (value) => typeof value === "number");
}

export function textIn(schema: SchemaObject, key: string): string | undefined {
  return typed(schema, key, (value) => typeof value === "string");
}

export function membersIn(schema: SchemaObject, key: string): SchemaObject | undefined {
  return typed(schema, key, isSchemaObject);
}

function draftOf(schema: SchemaObject): Draft {
  const name = own(schema, "$schema");
  if (typeof name !== "string") return 2020;
  if (/draft-0[34]/u.test(name)) return 4;
  if (/draft-0[67]/u.test(name)) return 7;
  return name.includes("2019-09") ? 2019 : 2020;
}

/** A part of the document that has an address of its own. */
interface Resource extends Scope {
  readonly base: string;
  readonly dynamicAnchors: Map<string, unknown>;
}

export interface Target {
  readonly schema: unknown;
  readonly resource: Scope;
}

/** Keywords whose values are data that may look like a schema. */
const DATA: ReadonlySet<string> = new Set(["const", "enum", "default", "example", "examples"]);
/** Keywords whose members are named by the author of the schema, not by JSON Schema. */
const NAMED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);

/** The base address of a schema without an address. Nobody writes a reference to it by accident. */
const NOWHERE = "codecell-schema:/";

export class Document {
  readonly draft: Draft;
  readonly isDynamic: boolean;
  readonly #resources = new Map<string, Resource>();
  /** The resource that each part belongs to. */
  readonly #owners = new Map<object, Resource>();
  readonly #anchors = new Map<string, unknown>();
  readonly #root: Resource;

  constructor(root: SchemaObject) {
    this.draft = draftOf(root);
    let isDynamic = false;
    const open: { part: unknown; owner: Resource | undefined; areNames: boolean }[] = [
      { part: root, owner: undefined, areNames: false },
    ];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { part, areNames } = next;
      let { owner } = next;
      if (typeof part !== "object" || part === null || this.#owners.has(part)) continue;
      if (isSchemaObject(part) && !areNames) {
        owner = this.#ownerOf(part, owner);
        isDynamic = this.#name(part, owner) || isDynamic;
      }
      if (owner !== undefined) this.#owners.set(part, owner);
      for (const [key, member] of Object.entries(part)) {
        if (areNames || !DATA.has(key)) {
          open.push({ part: member, owner, areNames: !areNames && !Array.isArray(part) && NAMED.has(key) });
        }
      }
    }
    this.isDynamic = isDynamic;
    this.#root = this.resourceOf(root);
  }

  resourceOf(part: object): Resource {
    const resource = this.#owners.get(part) ?? this.#root;
    return resource;
  }

  /** Throws a SchemaFault if the target is not in the document. */
  find(reference: string, from: object): Target {
    const { base } = this.resourceOf(from);
    const url = resolved(reference, base);
    const hash = url.indexOf("#");
    const address = hash === -1 ? url : url.slice(0, hash);
    const fragment = hash === -1 ? "" : tryDecode(url.slice(hash + 1));
    if (fragment !== "" && !fragment.startsWith("/")) {
      const named = this.#anchors.get(`${address}#${fragment}`);
      if (named === undefined) throw new SchemaFault();
      return this.#target(named);
    }
    const resource = this.#resources.get(address);
    if (resource === undefined) throw new SchemaFault();
    return this.#target(fragment === "" ? resource.root : pointed(resource.root, fragment));
  }

  #target(schema: unknown): Target {
    const resource = typeof schema === "object" && schema !== null ? this.resourceOf(schema) : this.#root;
    return { schema, resource };
  }

  /** The resource that a schema object starts, or the resource that contains it. */
  #ownerOf(part: SchemaObject, owner: Resource | undefined): Resource {
    const id = own(part, this.draft === 4 ? "id" : "$id");
    // Older drafts ignore all keywords beside a reference.
    const isHidden = this.draft <= 7 && own(part, "$ref") !== undefined;
    const isNew = typeof id === "string" && !isHidden && !(this.draft <= 7 && id.startsWith("#"));
    if (owner !== undefined && !isNew) return owner;
    const url = isNew ? resolved(id, owner?.base ?? NOWHERE) : NOWHERE;
    const base = url.replace(/#.*$/su, "");
    const resource: Resource = {
      base,
      root: part,
      dynamicAnchors: new Map(),
      isRecursive: own(part, "$recursiveAnchor") === true,
    };
    // Two parts with the same address: a reference to it would be ambiguous.
    if (this.#resources.has(base)) throw new SchemaFault();
    this.#resources.set(base, resource);
    if (owner === undefined && base !== NOWHERE) this.#resources.set(NOWHERE, resource);
    return resource;
  }

  /** Records the names of a part. Returns whether a dynamic reference can find the part. */
  #name(part: SchemaObject, owner: Resource): boolean {
    const id = own(part, this.draft === 4 ? "id" : "$id");
    if (this.draft <= 7 && typeof id === "string" && id.startsWith("#"))
      this.#anchor(owner, id.slice(1), part);
    const anchor = own(part, "$anchor");
    if (typeof anchor === "string") this.#anchor(owner, anchor, part);
    const dynamic = own(part, "$dynamicAnchor");
    if (typeof dynamic === "string") {
      this.#anchor(owner, dynamic, part);
      owner.dynamicAnchors.set(dynamic, part);
    }
    return typeof dynamic === "string" || own(part, "$recursiveAnchor") === true;
  }

  #anchor({ base }: Resource, name: string, part: unknown): void {
    if (!this.#anchors.has(`${base}#${name}`)) this.#anchors.set(`${base}#${name}`, part);
  }
}

function resolved(reference: string, base: string): string {
  if (reference === "" || reference.startsWith("#")) return base + reference;
  try {
    return new URL(reference, base).href;
  } catch {
    return reference;
  }
}

function pointed(root: unknown, pointer: string): unknown {
  let place = root;
  for (const segment of pointer.split("/").slice(1)) {
    const key = segment.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, key)) throw new SchemaFault();
    place = (place as SchemaObject)[key];
  }
  return place;
}

function tryDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
