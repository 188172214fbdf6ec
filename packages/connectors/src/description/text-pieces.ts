/** What a thread says of a description, as one text that is read by ranges. Runs on a thread of its own. */
import type { PartText, Range, SchemaText } from "./messages.ts";
import type { Schemas, SchemaWithParts } from "./schemas.ts";
import type { Words } from "./words.ts";

/** Texts one after the other, to be read by their ranges. */
export class TextPieces {
  readonly #words: Words;
  readonly #pieces: Buffer[] = [];
  #length = 0;

  constructor(words: Words) {
    this.#words = words;
  }

  add(value: unknown): Range {
    const piece = Buffer.from(JSON.stringify(value), "utf8");
    this.#pieces.push(piece);
    const from = this.#length;
    this.#length += piece.length;
    return [from, this.#length];
  }

  /** Schemas are told to programs, and have nothing that is hidden. */
  addSchema({ schema, parts }: SchemaWithParts): SchemaText {
    return { range: this.add(this.#words.data(schema)), parts };
  }

  /** All parts that were referred to: nothing may be read from the schemas after that. */
  addParts(schemas: Schemas): readonly PartText[] {
    return Array.from(schemas.parts(), ({ name, ...part }) => ({ name, ...this.addSchema(part) }));
  }

  /** In memory of its own, so that it can move to another thread. */
  bytes(): Uint8Array<ArrayBuffer> {
    const all = new Uint8Array(this.#length);
    let at = 0;
    for (const piece of this.#pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }
}
