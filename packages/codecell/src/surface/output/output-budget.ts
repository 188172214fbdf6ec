/**
 * Runs on the host. OutputBudget decides how much a model gets of the output and the value of one program, over its
 * exec and all its waits.
 *
 * - All outputs as JSON text, and the value, never have more than `maxOutputBytes` together. An empty output counts
 *   nothing, since a result leaves it out.
 * - What fits is not touched. Otherwise small items stay whole and large ones share the room. Items without any room
 *   are counted in one last item. Whatever is cut says how much is missing and, if it was saved, how to load the
 *   whole.
 * - Order is kept, and each item is given once. After the first item was left out, all later ones are.
 * - As long as more exchanges may come, room for a value and one more note is held back.
 */
import type { Json } from "../../contract/value.ts";
import { cutValue, toLoad } from "./cut-value.ts";
import type { CodeModeOutput } from "../shown/code-mode-result.ts";
import type { SavedValues } from "./saved-values.ts";
import { toShares } from "./shorten-json.ts";
import { cutText } from "./shorten-text.ts";

/** The fraction of the whole that is held back for the value. */
const VALUE_PART = 4;
const MOST_VALUE_BYTES = 16 * 1024;
/** Most bytes of the item that counts what was left out. */
const NOTE_BYTES = 192;
/** An item that has to be cut gets at least so many bytes, so that it shows something. */
const LEAST_ITEM_BYTES = 192;
const LIST_BYTES = 2;
const TEXT_ITEM_BYTES = jsonBytes({ type: "text", text: "" }) - 2;
const JSON_ITEM_BYTES = jsonBytes({ type: "json", value: 0 }) - 1;

export interface LastExchange {
  readonly output: CodeModeOutput[];
  readonly value: Json;
}

export class OutputBudget {
  /** Keeps whole what is cut. */
  saved: SavedValues;
  readonly #maxBytes: number;
  readonly #heldBack: number;
  #used = 0;
  #isClosed = false;
  /** Log lines that the run dropped. The model is told once. */
  #dropped = 0;
  #hasToldDropped = false;
  /** Items left out since the last note. */
  #omitted: readonly CodeModeOutput[] = [];

  /** `maxOutputBytes` is at least 1024, by the bounds of the configuration. */
  constructor(maxOutputBytes: number, saved: SavedValues) {
    this.#maxBytes = maxOutputBytes;
    this.#heldBack = Math.min(MOST_VALUE_BYTES, Math.floor(maxOutputBytes / VALUE_PART)) + NOTE_BYTES;
    this.saved = saved;
  }

  /**
   * The output of an exchange after which the program may go on. `dropped` counts the log lines that the run has
   * dropped so far.
   */
  take(items: readonly CodeModeOutput[], dropped: number): CodeModeOutput[] {
    this.#noteDropped(dropped);
    return this.#give(items, this.#left - this.#heldBack);
  }

  /**
   * The output and the value of the last exchange, which share what is left. The value of a program that failed is
   * null. `printed` is the value as JSON, if somebody has printed it already.
   */
  finish(items: readonly CodeModeOutput[], dropped: number, value?: Json, printed?: string): LastExchange {
    this.#noteDropped(dropped);
    const json = value === undefined ? "" : (printed ?? JSON.stringify(value));
    const half = Math.floor(this.#left / 2);
    const needed = this.#isClosed ? LIST_BYTES + NOTE_BYTES : exchangeBytes(this.#whole(items), half);
    const output = this.#give(items, Math.max(this.#left - Buffer.byteLength(json), Math.min(needed, half)));
    return { output, value: value === undefined ? null : this.#giveValue(value, json) };
  }

  get #left(): number {
    return this.#maxBytes - this.#used;
  }

  #noteDropped(dropped: number): void {
    if (!this.#hasToldDropped) this.#dropped = Math.max(this.#dropped, dropped);
  }

  #giveValue(value: Json, json: string): Json {
    const bytes = Buffer.byteLength(json);
    if (bytes <= this.#left) {
      this.#used += bytes;
      return value;
    }
    const given = cutValue(value, { bytes, maxBytes: this.#left, ref: this.saved.save(json) });
    this.#used += jsonBytes(given);
    return given;
  }

  #give(items: readonly CodeModeOutput[], room: number): CodeModeOutput[] {
    const whole = this.#whole(items);
    const fits = !this.#isClosed && exchangeBytes(whole, room) <= room;
    if (fits) this.#hasToldDropped ||= this.#dropped > 0;
    const given = fits ? whole : this.#cut(items, room - LIST_BYTES);
    this.#used += exchangeBytes(given);
    return given;
  }

  #whole(items: readonly CodeModeOutput[]): CodeModeOutput[] {
    return this.#mustTellDropped ? [...items, toText(`… ${this.#droppedLines}`)] : [...items];
  }

  #cut(items: readonly CodeModeOutput[], room: number): CodeModeOutput[] {
    const kept = this.#isClosed ? [] : this.#shorten(items, room - NOTE_BYTES - 1);
    const omitted = [...this.#omitted, ...items.slice(kept.length)];
    this.#isClosed ||= omitted.length > 0;
    const canTell = room >= NOTE_BYTES;
    this.#omitted = canTell ? [] : omitted;
    const parts = canTell ? this.#toParts(omitted) : [];
    return parts.length === 0 ? kept : [...kept, toText(`… ${parts.join("; ")}`)];
  }

  /** The parts of the note. */
  #toParts(omitted: readonly CodeModeOutput[]): string[] {
    const parts = omitted.length === 0 ? [] : [this.#tellOmitted(omitted)];
    if (this.#mustTellDropped) parts.push(this.#droppedLines);
    this.#hasToldDropped ||= this.#dropped > 0;
    return parts;
  }

  #tellOmitted(omitted: readonly CodeModeOutput[]): string {
    const json = JSON.stringify(omitted.map((item) => (item.type === "text" ? item.text : item.value)));
    const count = omitted.length === 1 ? "1 more item" : `${omitted.length} more items`;
    return `${count} omitted (${Buffer.byteLength(json)} bytes)${this.#toHint(json, "them")}`;
  }

  get #mustTellDropped(): boolean {
    return this.#dropped > 0 && !this.#hasToldDropped;
  }

  get #droppedLines(): string {
    return `${this.#dropped} log lines dropped, print less`;
  }

  /** Saves a value and says how to load it; an empty text if it cannot be saved. */
  #toHint(json: string, what: string): string {
    const ref = this.saved.save(json);
    return ref === undefined ? "" : `, ${toLoad(ref)} gives ${what}`;
  }

  #shorten(items: readonly CodeModeOutput[], room: number): CodeModeOutput[] {
    const sizes: number[] = [];
    // Measured in order, and not for all items if there are very many.
    const measure = (index: number): { readonly fixed: number; readonly size: number } => ({
      fixed: 1,
      size: (sizes[index] = jsonBytes(items[index] ?? toText(""))),
    });
    const shares = toShares(items.length, measure, { room, least: LEAST_ITEM_BYTES });
    return shares.map((share, index) => {
      const item = items[index] ?? toText("");
      return (sizes[index] ?? 0) <= share ? item : this.#cutItem(item, share);
    });
  }

  #cutItem(item: CodeModeOutput, maxBytes: number): CodeModeOutput {
    if (item.type === "text") {
      const hint = this.#toHint(JSON.stringify(item.text), "all");
      return toText(
        cutText(item.text, maxBytes - TEXT_ITEM_BYTES, (omitted) => `… (${omitted} bytes omitted${hint})`),
      );
    }
    const json = JSON.stringify(item.value);
    const options = {
      bytes: Buffer.byteLength(json),
      maxBytes: maxBytes - JSON_ITEM_BYTES,
      ref: this.saved.save(json),
    };
    return { type: "json", value: cutValue(item.value, options) };
  }
}

function toText(text: string): CodeModeOutput {
  return { type: "text", text };
}

function jsonBytes(value: Json | CodeModeOutput): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Bytes of the output as a list; 0 for an empty output. Counting stops beyond `most`. */
function exchangeBytes(items: readonly CodeModeOutput[], most = Number.POSITIVE_INFINITY): number {
  if (items.length === 0) return 0;
  let bytes = LIST_BYTES - 1;
  for (const item of items) {
    bytes += jsonBytes(item) + 1;
    if (bytes > most) break;
  }
  return bytes;
}
