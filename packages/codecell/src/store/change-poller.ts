/**
 * Runs on the host. ChangePoller finds out what others changed, for databases that tell nobody.
 *
 * - It reads the rows of watched runs again and again, and no others. It keeps no process alive.
 * - Within one claim and after its release, outcomes are only added. So the fence, whether the run is released, and
 *   the number of outcomes show every change.
 */
import type { FoundRun } from "./driver.ts";
import type { Watchers } from "./watchers.ts";

export class ChangePoller {
  readonly #read: (id: string) => Promise<FoundRun | undefined>;
  readonly #watchers: Watchers;
  readonly #pollMs: number;
  readonly #marks = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(read: (id: string) => Promise<FoundRun | undefined>, watchers: Watchers, pollMs: number) {
    this.#read = read;
    this.#watchers = watchers;
    this.#pollMs = pollMs;
  }

  /** Settles when no later change of a run that is watched now can be missed. */
  async start(): Promise<void> {
    for (const id of this.#watchers.ids) {
      if (!this.#marks.has(id)) this.#marks.set(id, toMark(await this.#read(id)));
    }
    this.#schedule();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#isStopped || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.#look(), this.#pollMs).unref();
  }

  async #look(): Promise<void> {
    const ids = new Set(this.#watchers.ids);
    for (const id of this.#marks.keys()) if (!ids.has(id)) this.#marks.delete(id);
    for (const id of ids) {
      try {
        const mark = toMark(await this.#read(id));
        if (this.#isStopped) return;
        if (this.#marks.get(id) !== mark) this.#watchers.call(id);
        this.#marks.set(id, mark);
      } catch {
        // The database cannot be reached at the moment; the next reading sees the change.
      }
    }
    this.#timer = undefined;
    if (this.#watchers.size > 0) this.#schedule();
    else this.#marks.clear();
  }
}

function toMark(found: FoundRun | undefined): string {
  if (found === undefined) return "";
  return `${found.row.fence}/${found.row.owner === undefined}/${found.posted}`;
}
