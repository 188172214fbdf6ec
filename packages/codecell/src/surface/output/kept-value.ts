/**
 * Runs on the host. KeptValue is a JSON value as the trajectory keeps it: a copy as text, whole or cut.
 *
 * It is always valid JSON of at most as many bytes as asked for. It can be made shorter later, and still knows how
 * large the value was.
 */
import type { Json } from "../../contract/value.ts";
import { countParts } from "../../value/json-text.ts";
import { cutValue } from "./cut-value.ts";

/** A part of a value takes up to 105 bytes of memory once it is built, however short its text is. */
const PART_BYTES = 24;

export class KeptValue {
  #wholeBytes: number;
  #isCut = false;
  #json: string;
  /** Of the present text; undefined until somebody asks. */
  #weight: number | undefined;

  /** `wholeBytes` is the size of the value's JSON text, if known: then the value can be cut without printing it. */
  constructor(value: Json, maxBytes: number, wholeBytes = 0) {
    this.#wholeBytes = wholeBytes;
    this.#json = "";
    if (wholeBytes > maxBytes) this.#cut(value, maxBytes);
    if (this.#isCut && this.bytes <= maxBytes) return;
    this.#json = toText(value);
    this.#isCut = false;
    this.#wholeBytes = this.bytes;
    if (this.#wholeBytes <= maxBytes) return;
    const whole = this.#json;
    this.#cut(value, maxBytes);
    if (this.bytes <= maxBytes) return;
    // Tools of the host may give values that become JSON only when printed. Reading the text back takes longer, so
    // try that last.
    this.#json = whole;
    this.#isCut = false;
    this.#cut(this.#read(), maxBytes);
  }

  get bytes(): number {
    return Buffer.byteLength(this.#json);
  }

  /** The bytes of the text, or more: memory that the value takes once it is built is at most five times as much. */
  get weight(): number {
    this.#weight ??= Math.max(this.bytes, PART_BYTES * countParts(this.#json));
    return this.#weight;
  }

  /** The value as JSON text. */
  get text(): string {
    return this.#json;
  }

  shorten(maxBytes: number): void {
    if (this.bytes <= maxBytes) return;
    const value = this.#read();
    this.#cut(this.#isCut ? (value as { readonly prefix: Json }).prefix : value, maxBytes);
  }

  #read(): Json {
    return JSON.parse(this.#json) as Json;
  }

  #cut(value: Json, maxBytes: number): void {
    // A value that was cut before has words about what is missing; its shape would include them.
    const cut = cutValue(value, { bytes: this.#wholeBytes, maxBytes, hasShape: !this.#isCut });
    this.#json = toText(cut);
    this.#weight = undefined;
    this.#isCut = true;
  }
}

function toText(value: Json): string {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text ?? "null";
  } catch {
    return '"… not JSON"';
  }
}
