/**
 * Runs on the host. HiddenTexts: the texts that a connector was given, or learnt, and that nobody may read, such as
 * credentials. They are taken out of whatever its backend says: this is the one mechanism of all kinds.
 *
 * - A text is found as it is; percent-encoded, or escaped as JSON, JavaScript and HTML do, in any mix and three layers
 *   deep; in hexadecimal; and in base64, also as a part of what was encoded.
 * - The work grows with what is read, and is done window by window: a long text can be read in turns.
 * - What is shown never depends on a part of a hidden text: who chooses the text learns nothing by trying.
 */
import { unescaped, type Unescaped } from "./unescaped.ts";

export interface HiddenText {
  readonly text: string;
  /** Shown in its place, in brackets. */
  readonly name?: string;
  /** Hidden however short it is. */
  readonly isAnyLength?: boolean;
}

/** Shorter texts are words that occur anyway. A program could find them by trying which ones are hidden. */
const SHORTEST = 6;
const LAYERS = 3;
/** How much longer than itself a text is when each character is escaped: `\u0041`, with one more layer above. */
const LONGEST_ESCAPE = 7;
/** A few milliseconds, where each character is escaped. */
const WINDOW = 32 * 1024;
const ESCAPING = /[%\\&]/u;

/** What is looked for. */
interface Needle {
  readonly text: string;
  readonly name: string;
  /** After so many characters the text begins again: how far one occurrence may reach into another. */
  readonly period: number;
}

/** What is taken out of what a connector gives. */
export interface Hidden {
  /** Taken out of all that a backend says. */
  readonly inData: HiddenTexts;
  /** More than that is taken out of errors, which anybody may come to see. */
  readonly inErrors: HiddenTexts;
}

interface Span {
  readonly from: number;
  to: number;
  readonly name: string;
}

/** Of the texts that were learnt the newest are kept: what a token was that others have replaced opens nothing. */
const MOST_LEARNT = 24;

interface Needles {
  readonly inText: readonly Needle[];
  readonly inBytes: readonly Needle[];
  readonly longest: number;
}

export class HiddenTexts {
  readonly #given: Needles;
  /** In the order in which they were learnt. */
  readonly #learnt = new Map<string, Needles>();
  #all: Needles;

  constructor(texts: Iterable<string | HiddenText>) {
    const given = [...texts].map((one) => (typeof one === "string" ? { text: one } : one));
    this.#given = searchedFor(
      given.filter(({ text, isAnyLength = false }) => (isAnyLength ? text !== "" : text.length >= SHORTEST)),
    );
    this.#all = this.#given;
  }

  /** No form of a hidden text has more characters. */
  get longest(): number {
    return this.#all.longest;
  }

  /** Hides more, such as the tokens that a login brought. From now on: what was given out before is not looked at again. */
  learn(texts: Iterable<string>): void {
    for (const text of texts) {
      if (text.length < SHORTEST) continue;
      const known = this.#learnt.get(text) ?? searchedFor([{ text }]);
      this.#learnt.delete(text);
      this.#learnt.set(text, known);
    }
    for (const oldest of this.#learnt.keys()) {
      if (this.#learnt.size <= MOST_LEARNT) break;
      this.#learnt.delete(oldest);
    }
    const parts = [this.#given, ...this.#learnt.values()];
    this.#all = {
      inText: parts.flatMap(({ inText }) => inText),
      inBytes: parts.flatMap(({ inBytes }) => inBytes),
      longest: Math.max(...parts.map(({ longest }) => longest)),
    };
  }

  get isEmpty(): boolean {
    return this.#all.inText.length === 0;
  }

  hide(text: string): string {
    return finished(this.hiding(text));
  }

  /** The same, window by window. */
  *hiding(text: string): Generator<undefined, string, undefined> {
    if (this.isEmpty) return text;
    const spans = yield* spansOf(text, this.#all.inText, this.longest);
    return spans.length === 0 ? text : shownOf(text, spans, 0);
  }

  /**
   * Of a text that was cut, perhaps in the middle of a hidden one: all that may be a part of one is left out, whatever it
   * is.
   */
  hideCut(text: string, cut: { readonly start?: boolean; readonly end?: boolean }): string {
    const spans = finished(spansOf(text, this.#all.inText, this.longest));
    const first = cut.start === true ? Math.min(this.longest, text.length) : 0;
    const last = cut.end === true ? Math.max(first, text.length - this.longest) : text.length;
    const from = Math.min(first, ...spans.filter((one) => one.to > first).map((one) => one.from));
    const to = Math.max(last, ...spans.filter((one) => one.from < last).map((one) => one.to));
    const start = cut.start === true ? from : 0;
    const end = cut.end === true ? to : text.length;
    const within = spans.filter((one) => one.from >= start && one.to <= end);
    return shownOf(text.slice(0, end), within, start);
  }

  /** The bytes, or a copy with asterisks in the places of hidden texts. */
  *hidingInBytes(bytes: Uint8Array): Generator<undefined, Uint8Array, undefined> {
    if (this.isEmpty) return bytes;
    const { buffer, byteOffset, byteLength } = bytes;
    const text = Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
    const spans = yield* spansOf(text, this.#all.inBytes, this.longest);
    if (spans.length === 0) return bytes;
    const copy = new Uint8Array(bytes);
    for (const { from, to } of spans) copy.fill(ASTERISK, from, to);
    return copy;
  }
}

const ASTERISK = 0x2a;

/** Does at once what could be done in turns. */
export function finished<T>(steps: Generator<undefined, T, undefined>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

function searchedFor(hidden: readonly HiddenText[]): Needles {
  const inText = needlesOf(hidden, ({ text }) => needleTexts(text));
  return {
    inText,
    inBytes: needlesOf(hidden, ({ text }) => byteFormsOf(text)),
    longest: Math.max(0, ...inText.map(({ text }) => text.length * LONGEST_ESCAPE)),
  };
}

function needlesOf(hidden: readonly HiddenText[], forms: (one: HiddenText) => Iterable<string>): Needle[] {
  const found = new Map<string, Needle>();
  for (const one of hidden) {
    for (const text of forms(one)) {
      if (text !== "" && !found.has(text))
        found.set(text, { text, name: one.name ?? "hidden", period: periodOf(text) });
    }
  }
  return [...found.values()];
}

/** What follows from no escapes alone: the text, and what it looks like in hexadecimal and base64, escaped before or not. */
function formsOf(text: string): string[] {
  if (text.length < SHORTEST) return [text];
  const forms = [text];
  // As forms write blanks.
  if (text.includes(" ")) forms.push(text.replaceAll(" ", "+"));
  for (const written of writtenForms(text)) {
    const bytes = Buffer.from(written, "utf8");
    const hex = bytes.toString("hex");
    forms.push(hex, hex.toUpperCase());
    for (const offset of [0, 1, 2]) {
      const encoded = base64Within(bytes, offset);
      forms.push(encoded, encoded.replaceAll("+", "-").replaceAll("/", "_"));
    }
  }
  return forms;
}

/** How a text is written in JSON, in URLs and in HTML, before all of that is encoded. */
function writtenForms(text: string): Set<string> {
  const inJson = JSON.stringify(text).slice(1, -1);
  const inUrl = encodeURIComponent(text.toWellFormed());
  const strict = inUrl.replaceAll(/[!'()*]/gu, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  const inForm = new URLSearchParams([["", text]]).toString().slice(1);
  const inHtml = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return new Set([
    text,
    inJson,
    inJson.replaceAll("/", "\\/"),
    inUrl,
    strict,
    inForm,
    inHtml,
    inHtml.replaceAll('"', "&quot;"),
  ]);
}

/** The characters of base64 that follow from the bytes alone, where so many bytes precede them in their group of three. */
function base64Within(bytes: Uint8Array, offset: number): string {
  const encoded = Buffer.concat([new Uint8Array(offset), bytes]).toString("base64");
  return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}

/**
 * All that is looked for. A text that has escapes itself is looked for without them too: whoever it was for has undone them,
 * and each layer of what is read loses its own.
 */
function needleTexts(text: string): Set<string> {
  const all = new Set<string>();
  for (const layer of layersOf(text)) {
    for (const form of formsOf(layer)) all.add(form);
  }
  return all;
}

function layersOf(text: string): string[] {
  const layers = [text];
  for (let layer = text; layers.length <= LAYERS; layers.push(layer)) {
    const next = unescaped(layer)?.text;
    if (next === undefined || next.length < SHORTEST) break;
    layer = next;
  }
  return layers;
}

/** As bytes in UTF-8, one character for each; and in UTF-16. */
function byteFormsOf(text: string): string[] {
  const wide = text.length < SHORTEST ? [] : [Buffer.from(text, "utf16le").toString("latin1")];
  return [...needleTexts(text)]
    .map((form) => Buffer.from(form, "utf8").toString("latin1"))
    .concat(
      wide,
      wide.map((form) => `\0${form.slice(0, -1)}`),
    );
}

function periodOf(text: string): number {
  const borders = new Uint32Array(text.length);
  for (let at = 1, border = 0; at < text.length; at++) {
    while (border > 0 && text[at] !== text[border]) border = borders[border - 1] as number;
    if (text[at] === text[border]) border++;
    borders[at] = border;
  }
  return text.length - (borders.at(-1) ?? 0);
}

/** Where the needles are, in order. Yields between windows, which overlap by what the longest one takes. */
function* spansOf(
  text: string,
  needles: readonly Needle[],
  overlap: number,
): Generator<undefined, readonly Span[], undefined> {
  const size = Math.max(WINDOW, overlap);
  const spans: Span[] = [];
  for (let start = 0; ; start += size) {
    const end = Math.min(text.length, start + size + overlap);
    collectSpans(start === 0 && end === text.length ? text : text.slice(start, end), start, needles, spans);
    if (end === text.length) break;
    yield;
  }
  return spans.sort((a, b) => a.from - b.from || b.to - a.to);
}

function collectSpans(window: string, start: number, needles: readonly Needle[], spans: Span[]): void {
  const layers: Unescaped[] = [];
  let layer = window;
  for (;;) {
    for (const needle of needles) {
      for (const [from, to] of occurrencesOf(needle, layer)) {
        const [first, last] = layers.reduceRight(([a, b], { origin }) => [...origin(a, b)], [from, to]);
        spans.push({ from: start + first, to: start + last, name: needle.name });
      }
    }
    const next = layers.length < LAYERS && ESCAPING.test(layer) ? unescaped(layer) : undefined;
    if (next === undefined) return;
    layers.push(next);
    layer = next.text;
  }
}

/** Occurrences that overlap are one. */
function* occurrencesOf({ text: needle, period }: Needle, text: string): Generator<[number, number]> {
  for (let from = text.indexOf(needle); from !== -1;) {
    let to = from + needle.length;
    while (to < text.length && period < needle.length && text[to] === text[to - period]) to++;
    yield [from, to];
    from = text.indexOf(needle, Math.max(from + 1, to - needle.length + 1));
  }
}

function shownOf(text: string, spans: readonly Span[], start: number): string {
  let shown = "";
  let end = start;
  for (const { from, to, name } of spans) {
    if (from < start) continue;
    if (from >= end) shown += `${text.slice(end, from)}[${name}]`;
    end = Math.max(end, to);
  }
  return shown + text.slice(end);
}
