/**
 * Runs on the host. UsedIds remembers ids until they expire. It sweeps only when it has doubled, so that adding stays
 * cheap.
 */
export class UsedIds {
  readonly #expiries = new Map<string, number>();
  #sweepAt = 1024;

  has(id: string): boolean {
    return this.#expiries.has(id);
  }

  add(id: string, expiresAt: number, now: number): void {
    if (this.#expiries.size >= this.#sweepAt) {
      for (const [old, expiry] of this.#expiries) if (now > expiry) this.#expiries.delete(old);
      this.#sweepAt = Math.max(1024, 2 * this.#expiries.size);
    }
    this.#expiries.set(id, expiresAt);
  }

  /** For an id that was not used after all. */
  delete(id: string): void {
    this.#expiries.delete(id);
  }
}
