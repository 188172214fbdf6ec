/**
 * Runs on the host. KeptCauses keeps what the host's own code threw in a run, for whoever asks later.
 *
 * - What a tool threw may have all of its input in it. Nobody can tell how much, so the input counts. The bound is on the
 *   inputs of all calls whose causes are kept; the oldest go first.
 * - The newest cause is always kept, however large its input: it is the one that is asked for most.
 */

/** Characters of the inputs of all calls whose causes are kept. */
const KEPT_LENGTH = 131_072;
/** What a cause counts for in addition to its call's input: errors of clients may hold a whole response. */
const CAUSE_LENGTH = 512;

interface Kept {
  readonly cause: unknown;
  readonly length: number;
}

export class KeptCauses<Key> {
  readonly #kept = new Map<Key, Kept>();
  #length = 0;

  /** Returns the keys whose causes are no longer kept. */
  add(key: Key, cause: unknown, inputLength: number): readonly Key[] {
    this.#forget(key);
    const length = CAUSE_LENGTH + inputLength;
    this.#kept.set(key, { cause, length });
    this.#length += length;
    const forgotten: Key[] = [];
    for (const [oldest] of this.#kept) {
      if (this.#length <= KEPT_LENGTH || oldest === key) break;
      this.#forget(oldest);
      forgotten.push(oldest);
    }
    return forgotten;
  }

  get(key: Key): unknown {
    return this.#kept.get(key)?.cause;
  }

  #forget(key: Key): void {
    this.#length -= this.#kept.get(key)?.length ?? 0;
    this.#kept.delete(key);
  }
}
