/**
 * Runs in a worker thread. SourceCache keeps prepared sources by their text: agents repeat programs, and every rebuilt
 * run prepares its source again.
 */
import type { Language } from "../contract/ledger.ts";
import { type Prepared, prepareSource } from "../source/prepare.ts";

const MOST_ENTRIES = 64;
const LARGEST_SOURCE = 16_384;

export class SourceCache {
  /** Least recently used first. */
  readonly #entries = new Map<string, Prepared>();

  prepare(source: string, language: Language): Prepared {
    if (source.length > LARGEST_SOURCE) return prepareSource(source, language);
    const key = `${language}:${source}`;
    const known = this.#entries.get(key);
    const prepared = known ?? prepareSource(source, language);
    this.#entries.delete(key);
    this.#entries.set(key, prepared);
    if (this.#entries.size > MOST_ENTRIES) {
      const [oldest = ""] = this.#entries.keys();
      this.#entries.delete(oldest);
    }
    return prepared;
  }
}
