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
 * - It works in steps: items and values are as large as a run's limits allow, and there may be very many.
 */
import type { Json } from "../../contract/value.ts";
import type { Steps } from "../../loop/turn.ts";
import type { LargeJson } from "../../value/json-text.ts";
import { printWhole } from "../../value/print-json.ts";
import { cutSteps, toLoad } from "./cut-value.ts";
import type { CodeModeOutput } from "../shown/code-mode-result.ts";
import { JSON_ITEM_BYTES, OutputItem, TEXT_ITEM_BYTES, textItem } from "./output-items.ts";
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
/** Items that are gone through between two steps. */
const ITEMS_AT_ONCE = 64;

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
  #omitted: readonly OutputItem[] = [];

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
  *take(items: readonly OutputItem[], dropped: number): Steps<CodeModeOutput[]> {
    this.#noteDropped(dropped);
    return yield* this.#give(items, this.#left - this.#heldBack);
  }

  /**
   * The output and the value of the last exchange, which share what is left. The value of a program that failed is
   * null. `large` is what a large value was read from, if known.
   */
  *finish(
    items: readonly OutputItem[],
    dropped: number,
    value?: Json,
    large?: LargeJson,
  ): Steps<LastExchange> {
    this.#noteDropped(dropped);
    const json = value === undefined ? "" : yield* this.#toJson(value, large);
    const half = Math.floor(this.#left / 2);
    const needed = this.#isClosed ? LIST_BYTES + NOTE_BYTES : exchangeBytes(this.#whole(items), half);
    const room = Math.max(this.#left - Buffer.byteLength(json), Math.min(needed, half));
    const output = yield* this.#give(items, room);
    return { output, value: value === undefined ? null : yield* this.#giveValue(value, json, large) };
  }

  /** The value's text. A value that is too large in any case keeps the text that it was read from. */
  *#toJson(value: Json, large: LargeJson | undefined): Steps<string> {
    if (large !== undefined && Buffer.byteLength(large.json) > this.#left) return large.json;
    return (yield* printWhole(value)) ?? "null";
  }

  get #left(): number {
    return this.#maxBytes - this.#used;
  }

  #noteDropped(dropped: number): void {
    if (!this.#hasToldDropped) this.#dropped = Math.max(this.#dropped, dropped);
  }

  *#giveValue(value: Json, json: string, large: LargeJson | undefined): Steps<Json> {
    const bytes = Buffer.byteLength(json);
    if (bytes <= this.#left) {
      this.#used += bytes;
      return value;
    }
    const options = { bytes, maxBytes: this.#left, ref: this.saved.save(json), names: large?.names };
    const given = yield* cutSteps(value, options);
    this.#used += Buffer.byteLength(JSON.stringify(given));
    return given;
  }

  *#give(items: readonly OutputItem[], room: number): Steps<CodeModeOutput[]> {
    const whole = this.#whole(items);
    for (const item of whole) if (item.large !== undefined && item.bytes <= room) yield* item.print();
    const fits = !this.#isClosed && exchangeBytes(whole, room) <= room;
    if (fits) this.#hasToldDropped ||= this.#dropped > 0;
    const given = fits ? whole : yield* this.#cut(items, room - LIST_BYTES);
    this.#used += exchangeBytes(given);
    return given.map(({ output }) => output);
  }

  #whole(items: readonly OutputItem[]): readonly OutputItem[] {
    return this.#mustTellDropped ? [...items, textItem(`… ${this.#droppedLines}`)] : items;
  }

  *#cut(items: readonly OutputItem[], room: number): Steps<OutputItem[]> {
    const kept = this.#isClosed ? [] : yield* this.#shorten(items, room - NOTE_BYTES - 1);
    const omitted = [...this.#omitted, ...items.slice(kept.length)];
    this.#isClosed ||= omitted.length > 0;
    const canTell = room >= NOTE_BYTES;
    this.#omitted = canTell ? [] : omitted;
    const parts = canTell ? yield* this.#toParts(omitted) : [];
    return parts.length === 0 ? kept : [...kept, textItem(`… ${parts.join("; ")}`)];
  }

  /** The parts of the note. */
  *#toParts(omitted: readonly OutputItem[]): Steps<string[]> {
    const parts = omitted.length === 0 ? [] : [yield* this.#tellOmitted(omitted)];
    if (this.#mustTellDropped) parts.push(this.#droppedLines);
    this.#hasToldDropped ||= this.#dropped > 0;
    return parts;
  }

  *#tellOmitted(omitted: readonly OutputItem[]): Steps<string> {
    const texts: string[] = [];
    for (const [index, item] of omitted.entries()) {
      if (index % ITEMS_AT_ONCE === 0 || item.output.type === "json") yield;
      texts.push(item.json);
    }
    const json = `[${texts.join(",")}]`;
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

  *#shorten(items: readonly OutputItem[], room: number): Steps<OutputItem[]> {
    // Measured in order, and not for all items if there are very many.
    const measure = (index: number): { readonly fixed: number; readonly size: number } => ({
      fixed: 1,
      size: items[index]?.bytes ?? 0,
    });
    yield* measureSteps(items, room);
    const shares = toShares(items.length, measure, { room, least: LEAST_ITEM_BYTES });
    const kept: OutputItem[] = [];
    for (const [index, share] of shares.entries()) {
      const item = items[index] ?? textItem("");
      kept.push(item.bytes <= share ? item : yield* this.#cutItem(item, share));
    }
    return kept;
  }

  *#cutItem(item: OutputItem, maxBytes: number): Steps<OutputItem> {
    yield;
    const { output, json, large } = item;
    if (output.type === "text") {
      const hint = this.#toHint(json, "all");
      return textItem(
        cutText(output.text, maxBytes - TEXT_ITEM_BYTES, (omitted) => `… (${omitted} bytes omitted${hint})`),
      );
    }
    const options = {
      bytes: Buffer.byteLength(json),
      maxBytes: maxBytes - JSON_ITEM_BYTES,
      ref: this.saved.save(json),
      names: large?.names,
    };
    return new OutputItem({ type: "json", value: yield* cutSteps(output.value, options) });
  }
}

/** Measures as many of the first items as can be shown. An item remembers its size. */
function* measureSteps(items: readonly OutputItem[], room: number): Steps<void> {
  let left = room;
  for (const [index, item] of items.entries()) {
    if (index % ITEMS_AT_ONCE === 0 || item.output.type === "json") yield;
    left -= Math.min(item.bytes, LEAST_ITEM_BYTES);
    if (left < 0) return;
  }
}

/** Bytes of the output as a list; 0 for an empty output. Counting stops beyond `most`. */
function exchangeBytes(items: readonly OutputItem[], most = Number.POSITIVE_INFINITY): number {
  if (items.length === 0) return 0;
  let bytes = LIST_BYTES - 1;
  for (const item of items) {
    bytes += item.bytes + 1;
    if (bytes > most) break;
  }
  return bytes;
}
