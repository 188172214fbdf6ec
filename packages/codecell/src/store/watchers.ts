/**
 * Watchers: who wants to hear of which run. Runs on the host.
 *
 * - Callbacks run apart from what caused them: one that throws disturbs neither the store nor its neighbours.
 * - Nobody is called after the end of their watch.
 */
export class Watchers {
  readonly #byId = new Map<string, Set<() => void>>();

  add(id: string, onChange: () => void): () => void {
    // Each watch is its own, even of the same callback.
    const watcher = (): void => onChange();
    const those = this.#byId.get(id) ?? new Set();
    this.#byId.set(id, those.add(watcher));
    return () => {
      those.delete(watcher);
      if (those.size === 0 && this.#byId.get(id) === those) this.#byId.delete(id);
    };
  }

  /** The runs that are watched. */
  get ids(): Iterable<string> {
    return this.#byId.keys();
  }

  get size(): number {
    return this.#byId.size;
  }

  /** A run was changed. */
  call(id: string): void {
    const those = this.#byId.get(id);
    for (const watcher of those ?? []) {
      queueMicrotask(() => {
        if (those?.has(watcher) === true) watcher();
      });
    }
  }

  /** Nobody knows which runs were changed. */
  callAll(): void {
    for (const id of this.ids) this.call(id);
  }

  clear(): void {
    for (const those of this.#byId.values()) those.clear();
    this.#byId.clear();
  }
}
