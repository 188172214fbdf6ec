/**
 * Runs on the host. Rests: times in which nobody is asked to log in again, each for one thing that is wanted.
 *
 * - A rest begins when a person is asked, however that ends, and ends early only when what was wanted came of it.
 * - Where several things were asked for in vain nobody is asked for anything: no server finds ever new things to ask for.
 */
import type { ConnectorError } from "../../contract/connector-error.ts";

/** Nobody is asked again so soon after a login that brought nothing. */
const REST_MS = 30_000;

const MOST_IN_VAIN = 3;

interface Rest {
  readonly error: ConnectorError;
  readonly until: number;
}

export class Rests {
  readonly #rests = new Map<string, Rest>();

  begin(wanted: string, error: ConnectorError): void {
    // It was told again, and nobody was asked.
    if ([...this.#rests.values()].some((rest) => rest.error === error)) return;
    this.#rests.set(wanted, { error, until: performance.now() + REST_MS });
  }

  end(wanted: string): void {
    this.#rests.delete(wanted);
  }

  /** Why nobody may be asked, if that is so. */
  of(wanted: string): ConnectorError | undefined {
    const now = performance.now();
    for (const [key, { until }] of this.#rests) if (until <= now) this.#rests.delete(key);
    const own = this.#rests.get(wanted);
    if (own !== undefined || this.#rests.size < MOST_IN_VAIN) return own?.error;
    return [...this.#rests.values()].at(-1)?.error;
  }
}
