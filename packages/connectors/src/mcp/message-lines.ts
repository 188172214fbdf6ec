/**
 * Runs on the host. MessageLines: cuts what a process writes into lines.
 *
 * - A line that is too large is read to its end and not kept. Whoever waits for it is told.
 * - A line that never ends is given up.
 */
import { AnswerIdScanner } from "./answer-id-scanner.ts";
import type { AnswerId } from "./faults.ts";

export interface MessageLinesOptions {
  readonly lineBytes: number;
  /** What is read of a line that is not kept. */
  readonly endlessBytes: number;
  readonly onLine: (line: string) => void;
  /** The id of the request that the line would have answered, if it was one. */
  readonly onTooLarge: (id: AnswerId | undefined) => void;
  readonly onEndless: () => void;
}

/** What is read of an answer that is not kept. More is no answer of a server in its right mind. */
export const ENDLESS_BYTES: number = 512 * 1024 * 1024;

const LINE_END = 0x0a;

export class MessageLines {
  readonly #options: MessageLinesOptions;
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #tooLarge: AnswerIdScanner | undefined;
  #isEnded = false;

  constructor(options: MessageLinesOptions) {
    this.#options = options;
  }

  push(chunk: Uint8Array): void {
    let from = 0;
    while (!this.#isEnded) {
      const end = chunk.indexOf(LINE_END, from);
      this.#add(chunk.subarray(from, end === -1 ? undefined : end));
      if (end === -1 || this.#isEnded) return;
      this.#endLine();
      from = end + 1;
    }
  }

  /** What comes after it is not read. */
  end(): void {
    this.#isEnded = true;
    this.#parts = [];
  }

  #add(part: Uint8Array): void {
    this.#bytes += part.length;
    if (this.#tooLarge === undefined && this.#bytes <= this.#options.lineBytes) {
      this.#parts.push(part);
      return;
    }
    if (this.#tooLarge === undefined) {
      this.#tooLarge = new AnswerIdScanner();
      for (const kept of this.#parts) this.#tooLarge.push(kept);
      this.#parts = [];
    }
    this.#tooLarge.push(part);
    if (this.#bytes <= this.#options.lineBytes + this.#options.endlessBytes) return;
    this.end();
    this.#options.onEndless();
  }

  #endLine(): void {
    const [parts, tooLarge] = [this.#parts, this.#tooLarge];
    this.#parts = [];
    this.#bytes = 0;
    this.#tooLarge = undefined;
    if (tooLarge === undefined) this.#options.onLine(Buffer.concat(parts).toString());
    else this.#options.onTooLarge(tooLarge.id);
  }
}
