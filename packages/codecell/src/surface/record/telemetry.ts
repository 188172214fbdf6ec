/**
 * Runs on the host. Telemetry counts what happens in one agent run.
 *
 * - Counts are exact and cumulative. Telemetry holds names and numbers, never an input, an output or a message.
 * - The list of called tools is bounded, since every result carries it.
 * - What `read` gave does not change any more.
 */
import type { CodeModeErrorCode, CodeModeTelemetry } from "../shown/code-mode-result.ts";

export type SnapshotEvent = keyof CodeModeTelemetry["snapshots"];

const MOST_NAMED = 100;

export class Telemetry {
  readonly #visibleTools: readonly string[];
  readonly #catalog: CodeModeTelemetry["catalog"];
  readonly #counts = { exec: 0, wait: 0, search: 0, describe: 0, call: 0 };
  readonly #called = new Set<string>();
  readonly #failures = new Map<CodeModeErrorCode, number>();
  readonly #snapshots = { created: 0, restored: 0, expired: 0, dropped: 0 };

  constructor(visibleTools: readonly string[], { size, sources }: CodeModeTelemetry["catalog"]) {
    this.#visibleTools = Object.freeze([...visibleTools]);
    this.#catalog = Object.freeze({ size, sources: Object.freeze({ ...sources }) });
  }

  exec(): void {
    this.#counts.exec++;
  }

  wait(): void {
    this.#counts.wait++;
  }

  search(): void {
    this.#counts.search++;
  }

  describe(): void {
    this.#counts.describe++;
  }

  /** Counts a call of a catalog tool, by the tool's id. */
  call(toolId: string): void {
    this.#counts.call++;
    // No more tools can be called than the catalog has: a caller that counts other ids too does not make this set grow
    // further.
    if (this.#called.size < this.#catalog.size) this.#called.add(toolId);
  }

  failure(code: CodeModeErrorCode): void {
    this.#failures.set(code, (this.#failures.get(code) ?? 0) + 1);
  }

  snapshot(event: SnapshotEvent): void {
    this.#snapshots[event]++;
  }

  read(): CodeModeTelemetry {
    const called = [...this.#called];
    const more = called.length - MOST_NAMED;
    return Object.freeze({
      visibleTools: this.#visibleTools,
      catalog: this.#catalog,
      counts: Object.freeze({ ...this.#counts }),
      calledTools: Object.freeze(called.slice(0, MOST_NAMED)),
      ...(more > 0 ? { moreCalledTools: more } : {}),
      failures: Object.freeze(Object.fromEntries(this.#failures)),
      snapshots: Object.freeze({ ...this.#snapshots }),
    });
  }
}
