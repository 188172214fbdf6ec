/**
 * Runs on the host. Searches a text for needles, as it is and under up to three layers of escapes, window by window.
 *
 * - Each layer is undone as a stream: no place where two windows meet hides a needle, however long its escapes are.
 * - A window is smaller the more needles there are: each takes a few milliseconds.
 * - What was found is given in order, and never held as a whole.
 */
import { LAYERS, type NeedleList } from "./needles.ts";
import { escapeBehind, LONGEST_ESCAPE, originOf, undo } from "./unescaped.ts";

export interface Span {
  readonly from: number;
  readonly to: number;
  readonly name: string;
}

/** What a text may have of a needle that was cut. */
export interface Edges {
  /** Before this may be the end of one that began before the text. */
  readonly start: number;
  /** Behind this may be the beginning of one that ends behind the text. */
  readonly end: number;
}

export interface Found {
  /** The last ones. */
  readonly spans: readonly Span[];
  readonly edges: Edges;
}

const LARGEST_WINDOW = 32 * 1024;
const SMALLEST_WINDOW = 1024;
/** Characters times needles. */
const WORK = 2_000_000;

/** A part of a needle that was cut has no more characters in any layer: an escape that was cut too is left as it is. */
export function marginOf({ longest }: NeedleList): number {
  return longest + LAYERS * LONGEST_ESCAPE;
}

export function* searched(text: string, list: NeedleList): Generator<readonly Span[], Found, undefined> {
  const size = Math.max(
    SMALLEST_WINDOW,
    Math.min(LARGEST_WINDOW, Math.floor(WORK / Math.max(1, list.needles.length))),
  );
  const layers = new Layers(list);
  let open: Span[] = [];
  for (let at = 0; ; at += size) {
    const isLast = at + size >= text.length;
    open.push(...layers.read(isLast && at === 0 ? text : text.slice(at, at + size), isLast));
    if (open.length > 1) open.sort((a, b) => a.from - b.from || b.to - a.to);
    if (isLast) return { spans: open, edges: layers.edges(text.length) };
    const { safe } = layers;
    const next = open.findIndex(({ from }) => from >= safe);
    const done = next === -1 ? open : open.slice(0, next);
    open = next === -1 ? [] : open.slice(next);
    yield done;
  }
}

/** The text itself, and what is below each layer of escapes. Positions in a layer are those in all of it. */
interface Layer {
  /** What may have the beginning of a needle, and what is read now. */
  buffer: string;
  /** Where the buffer begins. */
  base: number;
  /** Where the escapes were in the layer above. */
  readonly places: number[];
  /** What of the layer above may be a part of an escape. */
  carry: string;
  /** Where the layer above goes on behind the carry. */
  read: number;
  /** Where the first characters end in the text, that may be a part of a needle. */
  start: number | undefined;
}

class Layers {
  readonly #list: NeedleList;
  readonly #margin: number;
  readonly #layers: readonly Layer[] = Array.from({ length: LAYERS + 1 }, () => ({
    buffer: "",
    base: 0,
    places: [],
    carry: "",
    read: 0,
    start: undefined,
  }));
  /** No needle that is found later begins before this. */
  safe = 0;

  constructor(list: NeedleList) {
    this.#list = list;
    this.#margin = marginOf(list);
  }

  read(window: string, isLast: boolean): Span[] {
    const spans: Span[] = [];
    let chunk = window;
    for (const [depth, layer] of this.#layers.entries()) {
      if (depth > 0) chunk = this.#undo(layer, chunk, isLast);
      const known = layer.buffer.length;
      layer.buffer = known === 0 ? chunk : layer.buffer + chunk;
      const { base, buffer, places } = layer;
      if (layer.start === undefined && base + buffer.length >= this.#margin)
        layer.start = this.#origin(depth, this.#margin - 1, this.#margin)[1];
      // Where no escape was undone, it is what is in the layer above.
      if (depth === 0 || (places.at(-3) ?? 0) > base) this.#search(depth, known, spans);
    }
    if (!isLast) this.#forget();
    return spans;
  }

  /** Of the text as a whole, once all was read. */
  edges(length: number): Edges {
    let [start, end] = [0, length];
    for (const [depth, layer] of this.#layers.entries()) {
      start = Math.max(start, layer.start ?? length);
      const at = layer.base + layer.buffer.length - this.#margin;
      end = at <= 0 ? 0 : Math.min(end, this.#origin(depth, at, at + 1)[0]);
    }
    return { start, end };
  }

  #undo(layer: Layer, chunk: string, isLast: boolean): string {
    const given = layer.carry === "" ? chunk : layer.carry + chunk;
    const limit = isLast ? given.length : Math.max(0, given.length - LONGEST_ESCAPE);
    const { buffer, base, places, read: here } = layer;
    const { text, read } = undo(given, limit, { here, there: base + buffer.length, places });
    layer.read = here + read;
    layer.carry = given.slice(read);
    return text;
  }

  #search(depth: number, known: number, spans: Span[]): void {
    const { buffer, base } = this.#layers[depth] as Layer;
    for (const { text: needle, period, name } of this.#list.needles) {
      for (let at = buffer.indexOf(needle, Math.max(0, known - needle.length + 1)); at !== -1;) {
        let end = at + needle.length;
        // Occurrences that overlap are one.
        while (end < buffer.length && period < needle.length && buffer[end] === buffer[end - period]) end++;
        const [from, to] = this.#origin(depth, base + at, base + end);
        spans.push({ from, to, name });
        at = buffer.indexOf(needle, Math.max(at + 1, end - needle.length + 1));
      }
    }
  }

  /** Where in the text a part of a layer was. */
  #origin(depth: number, from: number, to: number): readonly [from: number, to: number] {
    let [first, last] = [from, to];
    for (let at = depth; at > 0; at--)
      [first, last] = originOf((this.#layers[at] as Layer).places, first, last);
    return [first, last];
  }

  #forget(): void {
    let needed = Number.POSITIVE_INFINITY;
    for (const layer of this.#layers.toReversed()) {
      const { buffer, places } = layer;
      const left = Math.max(0, buffer.length - this.#margin);
      layer.base += left;
      layer.buffer = buffer.slice(left);
      needed = Math.min(needed, layer.base);
      if (layer === this.#layers[0]) break;
      // The last one before says how far the layers are apart.
      const before = escapeBehind(places, needed) - 2;
      needed = originOf(places, needed, needed + 1)[0];
      if (before > 0) places.splice(0, before * 4);
    }
    this.safe = needed;
  }
}
