/**
 * Runs on the host. SavedValues keeps values of one agent run that were too large to show, so that its later
 * programs can load them.
 *
 * - It is bounded in bytes and number: the oldest values make room for a new one. A value that is too large is not
 *   kept.
 * - A ref is never used twice, and a ref with another prefix leads nowhere. Loading an unknown ref does not throw:
 *   the answer says in words which refs there are.
 */
import { sliceJson } from "./slice-json.ts";

export interface SavedValuesLimits {
  /** UTF-8 bytes of all values as JSON text. */
  readonly maxBytes: number;
  readonly maxValues: number;
}

export interface LoadOptions {
  /** For a list or a text: where to begin, counted in items or UTF-16 units. */
  readonly from?: number;
  /** For a list or a text: how many items or units. */
  readonly count?: number;
  /** Most bytes that the caller can take. */
  readonly maxBytes?: number;
}

export type Loaded =
  | { readonly ok: true; readonly json: string }
  | { readonly ok: false; readonly message: string };

interface SavedValue {
  readonly json: string;
  readonly bytes: number;
}

const MOST_NAMED = 10;
const LONGEST_REF = 40;

export class SavedValues {
  readonly #limits: SavedValuesLimits;
  readonly #prefix: string;
  /** Oldest first. */
  readonly #values = new Map<string, SavedValue>();
  #bytes = 0;
  #saved = 0;

  /** The prefix of all refs. */
  constructor(limits: SavedValuesLimits, prefix = "r") {
    this.#limits = limits;
    this.#prefix = prefix;
  }

  /** Saves a value, given as JSON text, and gives its ref; undefined when it does not fit. */
  save(json: string): string | undefined {
    const { maxBytes, maxValues } = this.#limits;
    const bytes = Buffer.byteLength(json);
    if (bytes > maxBytes || maxValues < 1) return undefined;
    for (const [ref, oldest] of this.#values) {
      if (this.#bytes + bytes <= maxBytes && this.#values.size < maxValues) break;
      this.#values.delete(ref);
      this.#bytes -= oldest.bytes;
    }
    this.#saved++;
    const ref = `${this.#prefix}_${this.#saved}`;
    this.#values.set(ref, { json, bytes });
    this.#bytes += bytes;
    return ref;
  }

  async load(
    ref: string,
    { from, count, maxBytes = Number.POSITIVE_INFINITY }: LoadOptions = {},
  ): Promise<Loaded> {
    const saved = this.#values.get(ref);
    if (saved === undefined) return { ok: false, message: this.#explain(ref) };
    const part = from === undefined && count === undefined ? saved : await slice(saved, from ?? 0, count);
    if (part === undefined) {
      return refuse(ref, "only lists and texts have parts, leave out from and count");
    }
    if (part.bytes > maxBytes) {
      const advice = "load a part with { from, count } if it is a list or a text";
      return refuse(ref, `it has ${part.bytes} bytes, at most ${maxBytes} can be loaded at once, ${advice}`);
    }
    return { ok: true, json: part.json };
  }

  clear(): void {
    this.#values.clear();
    this.#bytes = 0;
  }

  #explain(ref: string): string {
    const refs = [...this.#values.keys()];
    const named = refs.slice(-MOST_NAMED).join(", ");
    const there =
      refs.length === 0
        ? "no result is kept now"
        : `kept are ${refs.length > MOST_NAMED ? `${refs.length}, the latest ${named}` : named}`;
    const shown = JSON.stringify(ref.slice(0, LONGEST_REF));
    if (!this.#wasSaved(ref)) return `Cannot load ${shown}: no such result, ${there}`;
    return `Cannot load ${shown}: it made room for later results, ${there}; run the program that made it again and return less`;
  }

  #wasSaved(ref: string): boolean {
    const number = Number(ref.slice(this.#prefix.length + 1));
    const isCounted = Number.isInteger(number) && number > 0 && number <= this.#saved;
    return isCounted && ref === `${this.#prefix}_${number}`;
  }
}

function refuse(ref: string, why: string): Loaded {
  return { ok: false, message: `Cannot load "${ref}": ${why}` };
}

async function slice(
  { json }: SavedValue,
  from: number,
  count: number | undefined,
): Promise<SavedValue | undefined> {
  const start = toCount(from);
  const text = await sliceJson(json, start, count === undefined ? Infinity : start + toCount(count));
  return text === undefined ? undefined : { json: text, bytes: Buffer.byteLength(text) };
}

function toCount(number: number): number {
  return Number.isFinite(number) ? Math.max(0, Math.trunc(number)) : 0;
}
