/**
 * Runs on the host. EitherByte: finds the next of two bytes in a piece of data, in one pass over it, faster than a loop.
 */
export class EitherByte {
  readonly #data: Uint8Array;
  readonly #bytes: readonly number[];
  readonly #next: number[];

  constructor(data: Uint8Array, bytes: readonly [number, number]) {
    this.#data = data;
    this.#bytes = bytes;
    this.#next = bytes.map(() => -1);
  }

  /** The length of the data if there is none. Positions to search from may only grow. */
  from(position: number): number {
    for (const [index, byte] of this.#bytes.entries()) {
      if ((this.#next[index] ?? 0) >= position) continue;
      const found = this.#data.indexOf(byte, position);
      this.#next[index] = found === -1 ? this.#data.length : found;
    }
    return Math.min(...this.#next);
  }
}
