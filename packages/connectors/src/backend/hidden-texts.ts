/**
 * Runs on the host. HiddenTexts: the texts that a connector was given, or learnt, and that nobody may read, such as
 * credentials. They are taken out of whatever its backend says: this is the one mechanism of all kinds.
 *
 * - A text is found as it is; percent-encoded, or escaped as JSON, JavaScript and HTML do, in any mix and three layers
 *   deep; in hexadecimal; and in base64, also as a part of what was encoded.
 * - The work grows with what is read, and is done window by window: a long text can be read in turns.
 * - A number is a hidden text only as a whole: a longer one that has its digits is another number.
 * - What is shown never depends on a part of a hidden text: who chooses the text learns nothing by trying.
 */
import { allOf, type HiddenText, type Needles, needlesOf, SHORTEST } from "./needles.ts";
import { marginOf, type Edges, searched, type Span } from "./search.ts";

export type { HiddenText } from "./needles.ts";

/** What is taken out of what a connector gives. */
export interface Hidden {
  /** Taken out of all that a backend says. */
  readonly inData: HiddenTexts;
  /** More than that is taken out of errors, which anybody may come to see. */
  readonly inErrors: HiddenTexts;
}

/** Of the texts that were learnt the newest are kept: what a token was that others have replaced opens nothing. */
const MOST_LEARNT = 24;

export class HiddenTexts {
  readonly #texts: readonly HiddenText[];
  readonly #given: Needles;
  /** In the order in which they were learnt. */
  readonly #learnt = new Map<string, Needles>();
  #all: Needles;

  constructor(texts: Iterable<string | HiddenText>) {
    const given = [...texts].map((one) => (typeof one === "string" ? { text: one } : one));
    this.#texts = given.filter(({ text, isAnyLength = false }) =>
      isAnyLength ? text !== "" : text.length >= SHORTEST,
    );
    this.#given = needlesOf(this.#texts);
    this.#all = this.#given;
  }

  /** What is hidden, for a thread that hides the same. */
  get texts(): readonly HiddenText[] {
    return [...this.#texts, ...[...this.#learnt.keys()].map((text) => ({ text }))];
  }

  /** So many characters are left out of a text that was cut. Where it has escapes, it is more. */
  get longest(): number {
    return this.#all.inText.needles.length === 0 ? 0 : marginOf(this.#all.inText);
  }

  /** Hides more, such as the tokens that a login brought. From now on: what was given out before is not looked at again. */
  learn(texts: Iterable<string>): void {
    for (const text of texts) {
      if (text.length < SHORTEST) continue;
      const known = this.#learnt.get(text) ?? needlesOf([{ text }]);
      this.#learnt.delete(text);
      this.#learnt.set(text, known);
    }
    for (const oldest of this.#learnt.keys()) {
      if (this.#learnt.size <= MOST_LEARNT) break;
      this.#learnt.delete(oldest);
    }
    this.#all = allOf([this.#given, ...this.#learnt.values()]);
  }

  get isEmpty(): boolean {
    return this.#all.inText.needles.length === 0;
  }

  /** What is shown in place of a number that is a hidden text; undefined for all others. */
  hideNumber(digits: string): string | undefined {
    const name = this.#all.numbers.get(digits);
    return name === undefined ? undefined : `[${name}]`;
  }

  hide(text: string): string {
    return finished(this.hiding(text));
  }

  /** The same, window by window. `isHidden` leaves some of what was found where it is. */
  *hiding(
    text: string,
    isHidden: (span: Span) => boolean = () => true,
  ): Generator<undefined, string, undefined> {
    if (this.isEmpty) return text;
    const shown = new Shown(text, 0);
    const windows = searched(text, this.#all.inText);
    for (;;) {
      const { done, value } = windows.next();
      shown.add((done === true ? value.spans : value).filter(isHidden));
      if (done === true) return shown.upTo(text.length);
      yield;
    }
  }

  /**
   * Of a text that was cut, perhaps in the middle of a hidden one: all that may be a part of one is left out, whatever it
   * is.
   */
  hideCut(text: string, cut: { readonly start?: boolean; readonly end?: boolean }): string {
    return finished(this.hidingCut(text, cut));
  }

  /** The same, window by window. */
  *hidingCut(
    text: string,
    cut: { readonly start?: boolean; readonly end?: boolean },
  ): Generator<undefined, string, undefined> {
    if (this.isEmpty) return text;
    const { spans, edges } = yield* allSpans(text, this.#all.inText);
    const first = cut.start === true ? edges.start : 0;
    const last = cut.end === true ? Math.max(first, edges.end) : text.length;
    let [from, to] = [first, last];
    for (const span of spans) {
      if (span.to > first) from = Math.min(from, span.from);
      if (span.from < last) to = Math.max(to, span.to);
    }
    const start = cut.start === true ? from : 0;
    const end = cut.end === true ? to : text.length;
    const shown = new Shown(text, start);
    shown.add(spans.filter((one) => one.from >= start && one.to <= end));
    return shown.upTo(end);
  }

  /** The bytes, or a copy with asterisks in the places of hidden texts. */
  *hidingInBytes(bytes: Uint8Array): Generator<undefined, Uint8Array, undefined> {
    if (this.isEmpty) return bytes;
    const { buffer, byteOffset, byteLength } = bytes;
    const text = Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
    const windows = searched(text, this.#all.inBytes);
    let copy: Uint8Array | undefined;
    for (;;) {
      const { done, value } = windows.next();
      for (const { from, to } of done === true ? value.spans : value)
        (copy ??= new Uint8Array(bytes)).fill(ASTERISK, from, to);
      if (done === true) return copy ?? bytes;
      yield;
    }
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

function* allSpans(
  text: string,
  list: Needles["inText"],
): Generator<undefined, { readonly spans: readonly Span[]; readonly edges: Edges }, undefined> {
  const windows = searched(text, list);
  const spans: Span[] = [];
  for (;;) {
    const { done, value } = windows.next();
    for (const span of done === true ? value.spans : value) spans.push(span);
    if (done === true) return { spans, edges: value.edges };
    yield;
  }
}

/** A text with names in the places of what was found, put together while it is searched. */
class Shown {
  readonly #text: string;
  readonly #parts: string[] = [];
  #end: number;

  constructor(text: string, start: number) {
    this.#text = text;
    this.#end = start;
  }

  /** In their order, also from one time to the next. */
  add(spans: readonly Span[]): void {
    const parts: string[] = [];
    for (const { from, to, name } of spans) {
      if (from >= this.#end) parts.push(this.#text.slice(this.#end, from), `[${name}]`);
      this.#end = Math.max(this.#end, to);
    }
    if (parts.length > 0) this.#parts.push(parts.join(""));
  }

  upTo(end: number): string {
    if (this.#parts.length === 0) return this.#text.slice(Math.min(this.#end, end), end);
    return this.#parts.join("") + this.#text.slice(this.#end, end);
  }
}
