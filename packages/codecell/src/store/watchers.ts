/**
 * Runs on the host. Watchers knows who wants to hear of which run.
 *
 * - A callback runs in a microtask of its own: if it throws, neither the store nor other watchers are disturbed.
 * - Nobody is called after the end of their watch.
 */

/** Who wants to hear of which run; a driver calls them when others change a run. */
export class Watchers {
  readonly #byId = new Map<string, Set<() => void>>();

  add(id: string, onChange: () => void): () => void {
    // A new function for each watch, since the same callback may watch twice.
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

  /** Tells the watchers of a run that it was changed. */
  call(id: string): void {
    const those = this.#byId.get(id);
    for (const watcher of those ?? []) {
      queueMicrotask(() => {
        if (those?.has(watcher) === true) watcher();
      });
    }
  }

  /** Calls all watchers, when nobody knows which runs were changed. */
  callAll(): void {
    for (const id of this.ids) this.call(id);
  }

  clear(): void {
    for (const those of this.#byId.values()) those.clear();
    this.#byId.clear();
  }
}
