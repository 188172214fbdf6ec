/**
 * Runs on the host. HiddenTexts: the texts that a connector was given and that nobody may read, such as credentials. A
 * backend may repeat them in what it says of an error.
 */
import type { Json } from "codecell";

/** Shorter texts are words that occur anyway. */
const SHORTEST = 6;

export class HiddenTexts {
  readonly #texts: readonly string[];

  /** Of a text with several words, each word is hidden too: `Bearer` and a token. */
  constructor(texts: Iterable<string>) {
    const whole = [...texts];
    const all = whole.concat(whole.flatMap((text) => text.split(/\s+/u)));
    const hidden = new Set(all.filter((text) => text.length >= SHORTEST));
    // The longest first, so that none is found in a part of another.
    this.#texts = [...hidden].sort((a, b) => b.length - a.length);
  }

  hide(text: string): string {
    return this.#texts.reduce((hidden, one) => hidden.replaceAll(one, "[hidden]"), text);
  }

  hideIn(value: Json): Json {
    const replace = (_: string, one: unknown): unknown => (typeof one === "string" ? this.hide(one) : one);
    return JSON.parse(JSON.stringify(value, replace)) as Json;
  }
}
