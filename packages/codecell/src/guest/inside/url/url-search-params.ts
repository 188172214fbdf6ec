/**
 * URL search params: URLSearchParams, alone or as the live view of a URL's query. Runs inside the guest.
 *
 * - A change only marks the URL's query as stale. The text is rendered when it is next read, so that many appends cost
 *   no more than their sum.
 */
import { exposeClass, requireArguments } from "../expose.ts";
import { createPairIterators } from "../web/pair-iterator.ts";
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
  primordial,
  stringCharAt,
  stringIndexOf,
  stringSlice,
} from "../primordials.ts";
import { percentDecode } from "./url-percent.ts";
import { type Pair, toPairs, toWellFormedText } from "../web/webidl.ts";
import { swap } from "../web/swap.ts";

const { TypeError } = primordial;
const encodePercent = encodeURIComponent;
const FORM_EXTRA = /%20|[!'()~]/g;
const PLUS = /\+/g;

function formEncode(text: string): string {
  return swap(encodePercent(text), FORM_EXTRA, (found) => {
    switch (found) {
      case "%20":
        return "+";
      case "!":
        return "%21";
      case "'":
        return "%27";
      case "(":
        return "%28";
      case ")":
        return "%29";
      default:
        return "%7E";
    }
  });
}

function formDecode(text: string): string {
  return percentDecode(swap(text, PLUS, () => " "));
}

export function parseForm(text: string): List<Pair> {
  const pairs = list<Pair>();
  for (let from = 0; from <= text.length;) {
    let end = stringIndexOf(text, "&", from);
    if (end < 0) end = text.length;
    if (end > from) {
      const part = stringSlice(text, from, end);
      const equals = stringIndexOf(part, "=");
      append(pairs, {
        name: formDecode(equals < 0 ? part : stringSlice(part, 0, equals)),
        value: equals < 0 ? "" : formDecode(stringSlice(part, equals + 1)),
      });
    }
    from = end + 1;
  }
  return pairs;
}

function renderForm(pairs: List<Pair>): string {
  const parts = list<string>();
  for (let i = 0; i < pairs.length; i += 1) {
    append(parts, `${formEncode(at(pairs, i).name)}=${formEncode(at(pairs, i).value)}`);
  }
  return arrayJoin(parts, "&");
}

/** For the URL that owns the params: replaces the pairs with those of a query. */
export let resetParams: (params: URLSearchParams, query: string | null) => void;
/** Makes the params of a URL; `onChange` is called for every change by guest code. */
export let createLinkedParams: (query: string | null, onChange: () => void) => URLSearchParams;
export let renderParams: (params: URLSearchParams) => string;
export let isParams: (value: unknown) => value is URLSearchParams;
let pairAt: (params: URLSearchParams, index: number) => Pair | undefined;

export class URLSearchParams {
  #pairs: List<Pair> = list();
  #onChange: (() => void) | undefined;

  static {
    resetParams = (params, query) => {
      params.#pairs = query === null ? list() : parseForm(query);
    };
    createLinkedParams = (query, onChange) => {
      const params = new URLSearchParams();
      resetParams(params, query);
      params.#onChange = onChange;
      return params;
    };
    isParams = (value): value is URLSearchParams =>
      typeof value === "object" && value !== null && #pairs in value;
    renderParams = (params) => renderForm(params.#pairs);
    pairAt = (params, index) => params.#pairs[index];
  }

  constructor(init: unknown = "") {
    if ((typeof init === "object" && init !== null) || typeof init === "function") {
      this.#pairs = toPairs(init, "search params", toWellFormedText);
      return;
    }
    const text = toWellFormedText(init);
    this.#pairs = parseForm(stringCharAt(text, 0) === "?" ? stringSlice(text, 1) : text);
  }

  #changed(): void {
    if (this.#onChange !== undefined) apply(this.#onChange, undefined, []);
  }

  get size(): number {
    return this.#pairs.length;
  }

  append(name: unknown, value: unknown): void {
    requireArguments("append", arguments.length, 2);
    const pairs = this.#pairs;
    append(pairs, { name: toWellFormedText(name), value: toWellFormedText(value) });
    this.#changed();
  }

  delete(name: unknown, value: unknown = undefined): void {
    requireArguments("delete", arguments.length, 1);
    const pairs = this.#pairs;
    const wanted = toWellFormedText(name);
    const only = value === undefined ? undefined : toWellFormedText(value);
    let kept = 0;
    for (let i = 0; i < pairs.length; i += 1) {
      const pair = at(pairs, i);
      if (pair.name === wanted && (only === undefined || pair.value === only)) continue;
      pairs[kept] = pair;
      kept += 1;
    }
    pairs.length = kept;
    this.#changed();
  }

  get(name: unknown): string | null {
    requireArguments("get", arguments.length, 1);
    const pairs = this.#pairs;
    const wanted = toWellFormedText(name);
    for (let i = 0; i < pairs.length; i += 1) if (at(pairs, i).name === wanted) return at(pairs, i).value;
    return null;
  }

  getAll(name: unknown): string[] {
    requireArguments("getAll", arguments.length, 1);
    const pairs = this.#pairs;
    const wanted = toWellFormedText(name);
    const found: string[] = [];
    for (let i = 0; i < pairs.length; i += 1) {
      if (at(pairs, i).name === wanted) defineVisible(found, found.length, at(pairs, i).value);
    }
    return found;
  }

  has(name: unknown, value: unknown = undefined): boolean {
    requireArguments("has", arguments.length, 1);
    const pairs = this.#pairs;
    const wanted = toWellFormedText(name);
    const only = value === undefined ? undefined : toWellFormedText(value);
    for (let i = 0; i < pairs.length; i += 1) {
      const pair = at(pairs, i);
      if (pair.name === wanted && (only === undefined || pair.value === only)) return true;
    }
    return false;
  }

  set(name: unknown, value: unknown): void {
    requireArguments("set", arguments.length, 2);
    const pairs = this.#pairs;
    const wanted = toWellFormedText(name);
    const text = toWellFormedText(value);
    let kept = 0;
    let isSet = false;
    for (let i = 0; i < pairs.length; i += 1) {
      const pair = at(pairs, i);
      if (pair.name === wanted) {
        if (isSet) continue;
        pair.value = text;
        isSet = true;
      }
      pairs[kept] = pair;
      kept += 1;
    }
    pairs.length = kept;
    if (!isSet) append(pairs, { name: wanted, value: text });
    this.#changed();
  }

  sort(): void {
    arraySort(this.#pairs, (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    this.#changed();
  }

  forEach(callback: unknown, self: unknown = undefined): void {
    if (typeof callback !== "function")
      throw new TypeError("Cannot call forEach: the callback is not a function");
    for (let i = 0; i < this.#pairs.length; i += 1) {
      const pair = at(this.#pairs, i);
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

  toString(): string {
    return renderForm(this.#pairs);
  }
}

function brand(params: URLSearchParams): URLSearchParams {
  pairAt(params, 0);
  return params;
}

const iterate = createPairIterators<URLSearchParams>("URLSearchParams", pairAt!);

export function installSearchParams(): void {
  exposeClass("URLSearchParams", URLSearchParams);
  defineHidden(URLSearchParams.prototype, iterator, URLSearchParams.prototype.entries);
}
