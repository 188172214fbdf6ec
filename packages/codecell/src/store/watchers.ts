/**
 * Who wants to hear of which run.
 *
 * - Callbacks run apart from what caused them: one that throws disturbs neither the store nor its neighbours.
 * - Nobody is called after the end of their watch.
 */
export class Watchers {
  readonly #byKey = new Map<string, Set<() => void>>();
  readonly #keyOf: (id: string) => string;

  /** Runs are told apart by a key: what a change is announced with. */
  constructor(keyOf: (id: string) => string = (id) => id) {
    this.#keyOf = keyOf;
  }

  add(id: string, onChange: () => void): () => void {
    const key = this.#keyOf(id);
    // Each watch is its own, even of the same callback.
    const watcher = (): void => onChange();
    const those = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, those.add(watcher));
    return () => {
      those.delete(watcher);
      if (those.size === 0 && this.#byKey.get(key) === those) this.#byKey.delete(key);
    };
  }

  get keys(): Iterable<string> {
    return this.#byKey.keys();
  }

  get size(): number {
    return this.#byKey.size;
  }

  call(key: string): void {
    const those = this.#byKey.get(key);
    for (const watcher of those ?? []) {
      queueMicrotask(() => {
        if (those?.has(watcher) === true) watcher();
      });
    }
  }

  callAll(): void {
    for (const key of this.keys) this.call(key);
  }

  clear(): void {
    for (const those of this.#byKey.values()) those.clear();
    this.#byKey.clear();
  }
}
