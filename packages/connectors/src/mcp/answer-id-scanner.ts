/**
 * Runs on the host. AnswerIdScanner: reads the bytes of an answer that is too large to be kept, and finds which request it
 * answers.
 *
 * - It keeps no more than a short string, however large the answer is.
 * - The official server writes the id behind the result: the whole answer has to be read.
 */
import { EitherByte } from "./either-byte.ts";
import type { AnswerId } from "./faults.ts";

/** No id of ours and none of the names that matter is longer. */
const LONGEST_TOKEN = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

export class AnswerIdScanner {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #token = "";
  #key: string | undefined;
  #id: string | undefined;
  #isRequest = false;

  push(bytes: Uint8Array): void {
    const ends = new EitherByte(bytes, [QUOTE, BACKSLASH]);
    for (let at = 0; at < bytes.length; at++) {
      // Nearly all of a large answer is in its strings.
      if (this.#isInString && !this.#isEscaped && !this.#keeps) at = ends.from(at);
      const byte = bytes[at];
      if (byte !== undefined) this.#take(byte);
    }
  }

  /** Undefined if the message answers nothing. */
  get id(): AnswerId | undefined {
    if (this.#isRequest || this.#id === undefined) return undefined;
    try {
      const id: unknown = JSON.parse(this.#id);
      return typeof id === "string" || typeof id === "number" ? id : undefined;
    } catch {
      return undefined;
    }
  }

  #take(byte: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) this.#isInString = false;
      this.#keep(byte);
    } else if (byte === QUOTE) {
      this.#isInString = this.#depth > 0;
      this.#keep(byte);
    } else if (OPENING.has(byte)) {
      this.#depth++;
      this.#token = "";
    } else if (CLOSING.has(byte)) {
      if (this.#depth === 1) this.#endField();
      if (this.#depth > 0) this.#depth--;
    } else if (this.#depth === 1 && byte === COLON) {
      this.#key = this.#token.trim();
      this.#token = "";
    } else if (this.#depth === 1 && byte === COMMA) {
      this.#endField();
    } else {
      this.#keep(byte);
    }
  }

  #keep(byte: number): void {
    if (this.#keeps) this.#token += String.fromCharCode(byte);
  }

  get #keeps(): boolean {
    return this.#depth === 1 && this.#token.length < LONGEST_TOKEN;
  }

  #endField(): void {
    if (this.#key === '"id"') this.#id = this.#token;
    if (this.#key === '"method"') this.#isRequest = true;
    this.#key = undefined;
    this.#token = "";
  }
}
