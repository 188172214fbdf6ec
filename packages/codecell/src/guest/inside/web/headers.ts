/**
 * Headers: the Fetch standard's Headers. The only guard is that a response's headers cannot be changed. Runs inside the
 * guest.
 *
 * - Names are kept in lower case. Values of one name are kept apart and joined when they are read, so that appending is
 *   cheap. The sorted view is built on demand and dropped on every change.
 */
import { exposeClass, requireArguments } from "../expose.ts";
import { createPairIterators } from "./pair-iterator.ts";
import {
  append,
  apply,
  arrayJoin,
  arraySort,
  at,
  defineHidden,
  defineVisible,
  iterator,
  type List,
  list,
  mapDelete,
  mapEntries,
  mapForEach,
  mapGet,
  mapHas,
  mapNext,
  mapSet,
  primordial,
  regExpExec,
  stringSlice,
  stringToLowerCase,
} from "../primordials.ts";
import { type Pair, toPairs, toText } from "./webidl.ts";

const { Map, TypeError } = primordial;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const FORBIDDEN = /[\0\r\n]/;
const NOT_BYTE = /[^\0-\xff]/;

function toByteText(value: unknown): string {
  const text = toText(value);
  if (regExpExec(NOT_BYTE, text) !== null) {
    throw new TypeError("Cannot use the header: it has a character above U+00FF");
  }
  return text;
}

function toName(value: unknown): string {
  const text = toByteText(value);
  if (regExpExec(NAME, text) === null) {
    throw new TypeError(`Cannot use the header name "${stringSlice(text, 0, 64)}": it is not a token`);
  }
  return stringToLowerCase(text);
}

function isSpace(text: string, index: number): boolean {
  const unit = text[index];
  return unit === " " || unit === "\t" || unit === "\n" || unit === "\r";
}

function toValue(value: unknown): string {
  const text = toByteText(value);
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text, start)) start += 1;
  while (end > start && isSpace(text, end - 1)) end -= 1;
  const trimmed = stringSlice(text, start, end);
  if (regExpExec(FORBIDDEN, trimmed) !== null) {
    throw new TypeError("Cannot use the header value: it contains a line break or NUL");
  }
  return trimmed;
}

let pairAt: (headers: Headers, index: number) => Pair | undefined;

/** The joined values of a name in lower case. */
export let getHeader: (headers: Headers, name: string) => string | undefined;
/** Sets a header that is not there, whatever the guard. */
export let addMissingHeader: (headers: Headers, name: string, value: string) => void;
/** Headers with the same pairs, which can be changed. */
export let copyHeaders: (headers: Headers) => Headers;
/** Makes headers immutable. */
export let freezeHeaders: (headers: Headers) => void;
/** All pairs, sorted by name, with joined values. */
export let pairsOf: (headers: Headers) => List<Pair>;

export class Headers {
  readonly #values: Map<string, List<string>> = new Map();
  #sorted: List<Pair> | undefined;
  #isFrozen = false;

  static {
    pairAt = (headers, index) => headers.#sortedPairs()[index];
    freezeHeaders = (headers) => {
      headers.#isFrozen = true;
    };
    pairsOf = (headers) => headers.#sortedPairs();
    getHeader = (headers, name) => {
      const values = mapGet(headers.#values, name);
      return values === undefined ? undefined : arrayJoin(values, ", ");
    };
    copyHeaders = (headers) => {
      const copy = new Headers();
      mapForEach(headers.#values, (values, name) => {
        for (let i = 0; i < values.length; i += 1) copy.#append(name, at(values, i));
      });
      return copy;
    };
    addMissingHeader = (headers, name, value) => {
      if (!mapHas(headers.#values, name)) headers.#append(name, toValue(value));
    };
  }

  constructor(init: unknown = undefined) {
    if (init === undefined) return;
    if ((typeof init !== "object" || init === null) && typeof init !== "function") {
      throw new TypeError("Cannot make Headers: the value is not an object");
    }
    const pairs = toPairs(init, "headers", toByteText);
    for (let i = 0; i < pairs.length; i += 1) {
      const pair = at(pairs, i);
      this.#append(toName(pair.name), toValue(pair.value));
    }
  }

  #assertMutable(): void {
    if (this.#isFrozen) {
      throw new TypeError(
        "Cannot change headers: headers of a response are read-only, copy them with new Headers(headers)",
      );
    }
  }

  #append(name: string, value: string): void {
    this.#sorted = undefined;
    const values = mapGet(this.#values, name);
    if (values !== undefined) append(values, value);
    else {
      const made = list<string>();
      append(made, value);
      mapSet(this.#values, name, made);
    }
  }

  #sortedPairs(): List<Pair> {
    if (this.#sorted !== undefined) return this.#sorted;
    const pairs = list<Pair>();
    const cursor = mapEntries(this.#values);
    for (let step = mapNext(cursor); step.done !== true; step = mapNext(cursor)) {
      const name = step.value[0] as string;
      const values = step.value[1] as List<string>;
      if (name !== "set-cookie") append(pairs, { name, value: arrayJoin(values, ", ") });
      else for (let i = 0; i < values.length; i += 1) append(pairs, { name, value: at(values, i) });
    }
    this.#sorted = arraySort(pairs, (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    return this.#sorted;
  }

  append(name: unknown, value: unknown): void {
    requireArguments("append a header", arguments.length, 2);
    this.#assertMutable();
    this.#append(toName(name), toValue(value));
  }

  delete(name: unknown): void {
    requireArguments("delete a header", arguments.length, 1);
    const key = toName(name);
    this.#assertMutable();
    this.#sorted = undefined;
    mapDelete(this.#values, key);
  }

  get(name: unknown): string | null {
    requireArguments("get a header", arguments.length, 1);
    const values = mapGet(this.#values, toName(name));
    return values === undefined ? null : arrayJoin(values, ", ");
  }

  getSetCookie(): string[] {
    const values = mapGet(this.#values, "set-cookie");
    const copy: string[] = [];
    if (values === undefined) return copy;
    for (let i = 0; i < values.length; i += 1) defineVisible(copy, i, at(values, i));
    return copy;
  }

  has(name: unknown): boolean {
    requireArguments("look for a header", arguments.length, 1);
    return mapHas(this.#values, toName(name));
  }

  set(name: unknown, value: unknown): void {
    requireArguments("set a header", arguments.length, 2);
    const key = toName(name);
    const values = list<string>();
    append(values, toValue(value));
    this.#assertMutable();
    this.#sorted = undefined;
    mapSet(this.#values, key, values);
  }

  forEach(callback: unknown, self: unknown = undefined): void {
    if (typeof callback !== "function")
      throw new TypeError("Cannot call forEach: the callback is not a function");
    for (let i = 0; ; i += 1) {
      const pair = this.#sortedPairs()[i];
      if (pair === undefined) return;
      apply(callback as () => unknown, self, [pair.value, pair.name, this]);
    }
  }

  entries(): IterableIterator<[string, string]> {
    return iterate(brand(this), "entries");
  }

  keys(): IterableIterator<string> {
    return iterate(brand(this), "keys");
  }

  values(): IterableIterator<string> {
    return iterate(brand(this), "values");
  }
}

function brand(headers: Headers): Headers {
  pairAt(headers, 0);
  return headers;
}

const iterate = createPairIterators<Headers>("Headers", pairAt!);

export function installHeaders(): void {
  exposeClass("Headers", Headers);
  defineHidden(Headers.prototype, iterator, Headers.prototype.entries);
}
