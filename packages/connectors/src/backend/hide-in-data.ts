/**
 * Runs on the host. Takes hidden texts out of what a backend gave, wherever they are: in texts, names, numbers and bytes.
 *
 * - Data without any is given back as it is, and other data is copied, with all its values. However deep it is, no stack
 *   overflows; however large it is, and however much is hidden in it, the event loop gets its turns.
 * - A number is replaced only if it is a hidden text as a whole.
 */
import { setImmediate } from "node:timers/promises";
import { Bytes } from "../contract/connector.ts";
import { finished, type HiddenTexts } from "./hidden-texts.ts";

/** Work that gives up the thread at each step. */
type Steps<T> = Generator<undefined, T, undefined>;

/** A few milliseconds. */
const VALUES_PER_STEP = 10_000;
/** Short texts are searched together: there are as many characters in a turn, whatever they are in. */
const CHARACTERS_TOGETHER = 32 * 1024;
const TEXTS_TOGETHER = 2000;
/** Between texts that are searched together. No text that is hidden has it. */
const BETWEEN = "\uffff";

export async function hideInData(data: unknown, hidden: HiddenTexts): Promise<unknown> {
  return hidden.isEmpty ? data : inTurns(hidingInData(data, hidden));
}

/** At once: for what is small, or was bounded before. Data without hidden texts is given back as it is. */
export function hideAtOnce<T>(data: T, hidden: HiddenTexts): T {
  return hidden.isEmpty ? data : (finished(hidingInData(data, hidden)) as T);
}

export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await setImmediate();
  }
}

function* hidingInData(data: unknown, hidden: HiddenTexts): Steps<unknown> {
  const found = new Search(hidden);
  yield* found.in(data);
  return found.isEmpty ? data : yield* new Copy(hidden, found).of(data);
}

/** What of the data has hidden texts, and what is shown instead. */
class Search {
  readonly texts = new Map<string, string>();
  readonly bytes = new Map<Bytes, Uint8Array>();
  readonly #hidden: HiddenTexts;
  #hasNumbers = false;
  #open: string[] = [];
  #characters = 0;

  constructor(hidden: HiddenTexts) {
    this.#hidden = hidden;
  }

  get isEmpty(): boolean {
    return !this.#hasNumbers && this.texts.size + this.bytes.size === 0;
  }

  *in(data: unknown): Steps<void> {
    const seen = new Set<object>();
    const open: unknown[] = [data];
    for (let steps = 1; open.length > 0; steps++) {
      if (steps % VALUES_PER_STEP === 0) yield;
      const value = open.pop();
      if (typeof value === "string") yield* this.#text(value);
      else if (typeof value === "number")
        this.#hasNumbers ||= this.#hidden.hideNumber(String(value)) !== undefined;
      else if (typeof value === "object" && value !== null && !seen.has(value)) {
        seen.add(value);
        if (value instanceof Bytes) {
          const shown = yield* this.#hidden.hidingInBytes(value.bytes);
          if (shown !== value.bytes) this.bytes.set(value, shown);
          open.push(value.filename, value.mediaType);
        } else if (Array.isArray(value)) {
          for (const item of value as unknown[]) open.push(item);
        } else {
          for (const [key, part] of Object.entries(value)) open.push(key, part);
        }
      }
    }
    yield* this.#together();
  }

  *#text(text: string): Steps<void> {
    if (text.length > CHARACTERS_TOGETHER || text.includes(BETWEEN)) {
      const shown = yield* this.#hidden.hiding(text);
      if (shown !== text) this.texts.set(text, shown);
      yield;
      return;
    }
    if (text === "") return;
    this.#open.push(text);
    this.#characters += text.length;
    if (this.#characters < CHARACTERS_TOGETHER && this.#open.length < TEXTS_TOGETHER) return;
    yield* this.#together();
    yield;
  }

  *#together(): Steps<void> {
    const texts = this.#open;
    [this.#open, this.#characters] = [[], 0];
    const together = texts.join(BETWEEN);
    const shown = yield* this.#hidden.hiding(together);
    if (shown === together) return;
    for (const [at, one] of shown.split(BETWEEN).entries()) {
      const text = texts[at] as string;
      if (one !== text) this.texts.set(text, one);
    }
  }
}

/** A copy of data with what is shown instead. */
class Copy {
  readonly #hidden: HiddenTexts;
  readonly #found: Search;
  readonly #copies = new Map<object, object>();
  readonly #left: (readonly [from: object, to: object])[] = [];
  #steps = 0;

  constructor(hidden: HiddenTexts, found: Search) {
    this.#hidden = hidden;
    this.#found = found;
  }

  *of(data: unknown): Steps<unknown> {
    const whole = this.#shown(data);
    for (let pair = this.#left.pop(); pair !== undefined; pair = this.#left.pop()) {
      const [from, to] = pair;
      for (const key of Array.isArray(from) ? from.keys() : Object.keys(from)) {
        if (++this.#steps % VALUES_PER_STEP === 0) yield;
        const value = this.#shown((from as Readonly<Record<string | number, unknown>>)[key]);
        const name = typeof key === "string" ? freeName(this.#text(key), key, from, to) : key;
        // Not by assignment: a key may be `__proto__`.
        Object.defineProperty(to, name, { value, configurable: true, enumerable: true, writable: true });
      }
    }
    return whole;
  }

  #text(text: string): string {
    return this.#found.texts.get(text) ?? text;
  }

  #shown(value: unknown): unknown {
    if (typeof value === "string") return this.#text(value);
    if (typeof value === "number") return this.#hidden.hideNumber(String(value)) ?? value;
    if (typeof value !== "object" || value === null) return value;
    const known = this.#copies.get(value);
    if (known !== undefined) return known;
    const copy = value instanceof Bytes ? this.#bytes(value) : Array.isArray(value) ? [] : {};
    this.#copies.set(value, copy);
    if (!(value instanceof Bytes)) this.#left.push([value, copy]);
    return copy;
  }

  #bytes(value: Bytes): Bytes {
    const { bytes, filename, mediaType } = value;
    return new Bytes(this.#found.bytes.get(value) ?? bytes, {
      ...(filename === undefined ? {} : { filename: this.#text(filename) }),
      ...(mediaType === undefined ? {} : { mediaType: this.#text(mediaType) }),
    });
  }
}

/** Two names of which hidden texts were taken may have become the same: the later ones get a number. */
function freeName(shown: string, key: string, from: object, to: object): string {
  if (shown === key) return key;
  let name = shown;
  for (let count = 2; Object.hasOwn(to, name) || Object.hasOwn(from, name); count++)
    name = `${shown} ${count}`;
  return name;
}
