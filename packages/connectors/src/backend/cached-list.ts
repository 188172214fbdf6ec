/**
 * Runs on the host. CachedList: a list that a backend gives, asked for once and kept for a time.
 *
 * - Whoever asks while the list is on its way waits for the same answer. The backend is told to stop when nobody waits.
 * - After `forget` the next one to ask gets a list that was asked for later.
 * - A failure is not kept.
 */
export interface CachedListOptions<Item> {
  /** For how long a list may be given again. */
  readonly ttlMs: number;
  readonly load: (signal: AbortSignal) => Promise<readonly Item[]>;
}

interface Loading<Item> {
  readonly items: Promise<readonly Item[]>;
  readonly abort: AbortController;
  waiting: number;
}

export class CachedList<Item> {
  readonly #options: CachedListOptions<Item>;
  #kept: { readonly items: readonly Item[]; readonly until: number } | undefined;
  #loading: Loading<Item> | undefined;

  constructor(options: CachedListOptions<Item>) {
    this.#options = options;
  }

  async get({ signal }: { readonly signal: AbortSignal }): Promise<readonly Item[]> {
    signal.throwIfAborted();
    if (this.#kept !== undefined && performance.now() < this.#kept.until) return this.#kept.items;
    const loading = (this.#loading ??= this.#load());
    loading.waiting++;
    const left = Promise.withResolvers<never>();
    const onAbort = (): void => left.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([loading.items, left.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      loading.waiting--;
      if (loading.waiting === 0) this.#leave(loading);
    }
  }

  /** Called when the backend says that its list has changed. */
  forget(): void {
    this.#kept = undefined;
    this.#loading = undefined;
  }

  #load(): Loading<Item> {
    const abort = new AbortController();
    const items = this.#options.load(abort.signal);
    const loading: Loading<Item> = { items, abort, waiting: 0 };
    items.then(
      (loaded) => {
        // A list that was asked for before `forget` may be the old one.
        if (this.#loading !== loading) return;
        this.#kept = { items: loaded, until: performance.now() + this.#options.ttlMs };
        this.#loading = undefined;
      },
      () => this.#leave(loading),
    );
    return loading;
  }

  #leave(loading: Loading<Item>): void {
    if (this.#loading === loading) this.#loading = undefined;
    loading.abort.abort(new DOMException("Nobody waits for the list any more", "AbortError"));
  }
}
