/**
 * References: finds what the references of a schema point to, and cuts its long lists. Runs anywhere.
 *
 * - Work is bounded, because a schema may come from anywhere.
 */
import { isSchemaObject, own } from "../contract/schema-object.ts";
import { isRecord } from "../value/shape.ts";

/** Longer lists are cut to one entry more than this, so that a caller can see that there was more. */
export const MOST_LISTED = 2000;

/** The entries of a list, holes included; empty if the value is not a list. */
export function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) return [];
  return Array.from({ length: Math.min(value.length, MOST_LISTED + 1) }, (_, index): unknown => value[index]);
}

/** The most segments of a pointer that are followed. */
const MOST_SEGMENTS = 64;
/** The most places that are searched for anchors. */
const MOST_PLACES = 20_000;

/** Finds what a `$ref` points to inside one document. A reference to another document finds nothing. */
export class References {
  readonly #root: unknown;
  #anchors: ReadonlyMap<string, unknown> | undefined;

  constructor(root: unknown) {
    this.#root = root;
  }

  find(reference: string): unknown {
    const hash = reference.indexOf("#");
    const fragment = hash === -1 ? "" : reference.slice(hash + 1);
    const base = hash === -1 ? reference : reference.slice(0, hash);
    if (base !== "" && base !== this.#rootId()) return fragment === "" ? this.#named(base) : undefined;
    if (fragment === "") return this.#root;
    return fragment.startsWith("/") ? this.#pointed(fragment) : this.#named(`#${fragment}`);
  }

  #rootId(): unknown {
    return isSchemaObject(this.#root) ? (own(this.#root, "$id") ?? own(this.#root, "id")) : undefined;
  }

  #pointed(pointer: string): unknown {
    const segments = pointer.split("/", MOST_SEGMENTS + 1).slice(1);
    let place: unknown = this.#root;
    for (const segment of segments) {
      if (!isRecord(place)) return undefined;
      place = own(place, unescape(segment));
    }
    return place;
  }

  #named(name: string): unknown {
    this.#anchors ??= anchorsOf(this.#root);
    return this.#anchors.get(name);
  }
}

/** The last part of a reference, as a hint for the name of its type. */
export function nameInReference(reference: string): string | undefined {
  const last = reference.slice(reference.lastIndexOf("/") + 1).replace(/^#/u, "");
  return last === "" ? undefined : unescape(last);
}

function unescape(segment: string): string {
  const decoded = segment.includes("%") ? tryDecode(segment) : segment;
  return decoded.replaceAll("~1", "/").replaceAll("~0", "~");
}

function tryDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function anchorsOf(root: unknown): ReadonlyMap<string, unknown> {
  const anchors = new Map<string, unknown>();
  const seen = new Set<object>();
  const open: unknown[] = [root];
  for (let place = open.pop(); open.length > 0 || place !== undefined; place = open.pop()) {
    if (!isRecord(place) || seen.has(place) || seen.size >= MOST_PLACES) continue;
    seen.add(place);
    for (const key of ["$anchor", "$dynamicAnchor"]) {
      const anchor = own(place, key);
      if (typeof anchor === "string" && !anchors.has(`#${anchor}`)) anchors.set(`#${anchor}`, place);
    }
    const id = own(place, "$id");
    if (typeof id === "string" && !anchors.has(id)) anchors.set(id, place);
    open.push(...Object.values(place).slice(0, MOST_PLACES));
  }
  return anchors;
}
