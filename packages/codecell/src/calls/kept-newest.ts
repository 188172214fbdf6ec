/**
 * Runs on the host. KeptNewest keeps values for whoever asks later, within a bound on their lengths. The oldest go
 * first. The newest is always kept, however long it is: it is the one that is asked for most.
 */

/** Characters of all values that are kept. */
export const KEPT_LENGTH = 131_072;

interface Kept<Value> {
  readonly value: Value;
  readonly length: number;
}

export class KeptNewest<Key, Value> {
  readonly #kept = new Map<Key, Kept<Value>>();
  #length = 0;

  /** Returns the keys whose values are no longer kept. */
  add(key: Key, value: Value, length: number): readonly Key[] {
    this.#forget(key);
    this.#kept.set(key, { value, length });
    this.#length += length;
    const forgotten: Key[] = [];
    for (const [oldest] of this.#kept) {
      if (this.#length <= KEPT_LENGTH || oldest === key) break;
      this.#forget(oldest);
      forgotten.push(oldest);
    }
    return forgotten;
  }

  get(key: Key): Value | undefined {
    return this.#kept.get(key)?.value;
  }

  #forget(key: Key): void {
    this.#length -= this.#kept.get(key)?.length ?? 0;
    this.#kept.delete(key);
  }
}
