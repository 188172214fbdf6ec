/**
 * Runs on the host. Takes hidden texts out of what a backend gave, wherever they are: in texts, names, numbers and bytes.
 *
 * - Data without any is given back as it is, and other data is copied. However deep it is, no stack overflows; however
 *   large it is, the event loop gets its turns.
 */
import { setImmediate } from "node:timers/promises";
import { Bytes } from "../contract/connector.ts";
import { finished, type HiddenTexts } from "./hidden-texts.ts";

/** Work that gives up the thread at each step. */
type Steps<T> = Generator<undefined, T, undefined>;

/** A few milliseconds. */
const VALUES_PER_STEP = 10_000;
/** Short texts are searched together: nearly always there is nothing to find. */
const CHARACTERS_TOGETHER = 64 * 1024;
/** Between texts that are searched together. No text that is hidden has it. */
const BETWEEN = "\uffff";

export async function hideInData(data: unknown, hidden: HiddenTexts): Promise<unknown> {
  if (hidden.isEmpty || !(await inTurns(hasHidden(data, hidden)))) return data;
  return inTurns(new Hiding(hidden).in(data));
}

/** At once: for what is small, or was bounded before. Data without hidden texts is given back as it is. */
export function hideAtOnce<T>(data: T, hidden: HiddenTexts): T {
  return finished(hasHidden(data, hidden)) ? (finished(new Hiding(hidden).in(data)) as T) : data;
}

async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await setImmediate();
  }
}

function* hasHidden(data: unknown, hidden: HiddenTexts): Steps<boolean> {
  const seen = new Set<object>();
  const open: unknown[] = [data];
  let texts: string[] = [];
  let characters = 0;
  for (let steps = 1; open.length > 0; steps++) {
    if (steps % VALUES_PER_STEP === 0) yield;
    const value = open.pop();
    const text = textOf(value);
    if (text !== undefined) {
      texts.push(text);
      characters += text.length;
    } else if (typeof value === "object" && value !== null && !seen.has(value)) {
      seen.add(value);
      if (value instanceof Bytes) {
        if ((yield* hidden.hidingInBytes(value.bytes)) !== value.bytes) return true;
        open.push(value.filename, value.mediaType);
      } else if (Array.isArray(value)) {
        for (const item of value as unknown[]) open.push(item);
      } else {
        for (const [key, part] of Object.entries(value)) open.push(key, part);
      }
    }
    if (characters < CHARACTERS_TOGETHER && open.length > 0) continue;
    const together = texts.join(BETWEEN);
    if ((yield* hidden.hiding(together)) !== together) return true;
    [texts, characters] = [[], 0];
  }
  return false;
}

/** A secret may be a number. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" ? String(value) : undefined;
}

class Hiding {
  readonly #hidden: HiddenTexts;
  readonly #copies = new Map<object, object>();
  readonly #left: (readonly [from: object, to: object])[] = [];
  #steps = 0;

  constructor(hidden: HiddenTexts) {
    this.#hidden = hidden;
  }

  *in(data: unknown): Steps<unknown> {
    const whole = yield* this.#shown(data);
    for (let pair = this.#left.pop(); pair !== undefined; pair = this.#left.pop()) {
      const [from, to] = pair;
      for (const key of Array.isArray(from) ? from.keys() : Object.keys(from)) {
        const value = yield* this.#shown((from as Readonly<Record<string | number, unknown>>)[key]);
        const name = typeof key === "string" ? yield* this.#hidden.hiding(key) : key;
        // Not by assignment: a key may be `__proto__`.
        Object.defineProperty(to, name, { value, configurable: true, enumerable: true, writable: true });
      }
    }
    return whole;
  }

  *#shown(value: unknown): Steps<unknown> {
    if (++this.#steps % VALUES_PER_STEP === 0) yield;
    const text = textOf(value);
    if (text !== undefined) {
      const shown = yield* this.#hidden.hiding(text);
      return shown === text ? value : shown;
    }
    if (typeof value !== "object" || value === null) return value;
    const known = this.#copies.get(value);
    if (known !== undefined) return known;
    const copy = value instanceof Bytes ? yield* this.#bytes(value) : Array.isArray(value) ? [] : {};
    this.#copies.set(value, copy);
    if (!(value instanceof Bytes)) this.#left.push([value, copy]);
    return copy;
  }

  *#bytes({ bytes, filename, mediaType }: Bytes): Steps<Bytes> {
    return new Bytes(yield* this.#hidden.hidingInBytes(bytes), {
      ...(filename === undefined ? {} : { filename: yield* this.#hidden.hiding(filename) }),
      ...(mediaType === undefined ? {} : { mediaType: yield* this.#hidden.hiding(mediaType) }),
    });
  }
}
