/**
 * Runs on the host. What is shown of the cause of an error: to the host alone, which logs it.
 *
 * - A cause is handed on as it is only if all of it was looked at, and nothing is hidden in it; and if it is the reason for
 *   which its caller stopped waiting. Otherwise an error stands for it, with what may be told of it as text.
 * - What is looked at is bounded, and done in turns, whatever a backend put into it.
 */
import { inspect } from "node:util";
import { inTurns } from "../backend/hide-in-data.ts";
import type { HiddenTexts } from "../backend/hidden-texts.ts";

const MOST_VALUES = 2000;
const MOST_CHARACTERS = 32 * 1024;
const VALUES_PER_STEP = 100;
const DEEPEST = 10;
const LONGEST_NAME = 100;

export async function shownCause(cause: unknown, hidden: HiddenTexts, signal: AbortSignal): Promise<unknown> {
  if (cause === undefined || hidden.isEmpty || (signal.aborted && cause === signal.reason)) return cause;
  return inTurns(shown(cause, hidden));
}

function* shown(cause: unknown, hidden: HiddenTexts): Generator<undefined, unknown, undefined> {
  const look = new Look(hidden);
  const copy = yield* look.at(cause, 0);
  if (look.isWhole && !look.hasHidden) return cause;
  const { name, message, stack, code, ...rest } = (cause instanceof Error ? copy : { message: copy }) as Told;
  yield;
  const first = typeof stack === "string" ? stack : `${textOf(name ?? "Error")}: ${textOf(message)}`;
  const more = Object.keys(rest).length === 0 ? "" : ` ${textOf(rest)}`;
  yield;
  const error = new Error(yield* hidden.hiding(first + more));
  if (typeof name === "string") error.name = name.slice(0, LONGEST_NAME);
  if (typeof code === "string" || typeof code === "number") Object.assign(error, { code });
  return error;
}

interface Told {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly stack?: unknown;
  readonly code?: unknown;
}

/** Without line breaks of its own, which could part a hidden text. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  const whole = { depth: null, maxArrayLength: null, maxStringLength: null } as const;
  return inspect(value, { ...whole, compact: true, breakLength: Number.POSITIVE_INFINITY });
}

/** Copies as much as there is room for, and takes out what is hidden. */
class Look {
  /** Whether there is nothing that was not looked at. */
  isWhole = true;
  hasHidden = false;
  readonly #hidden: HiddenTexts;
  readonly #copies = new Map<object, unknown>();
  #values = 0;
  #characters = MOST_CHARACTERS;

  constructor(hidden: HiddenTexts) {
    this.#hidden = hidden;
  }

  *at(value: unknown, depth: number): Generator<undefined, unknown, undefined> {
    if (++this.#values % VALUES_PER_STEP === 0) yield;
    switch (typeof value) {
      case "string":
        return yield* this.#text(value);
      case "number":
      case "bigint":
        return this.#number(value);
      case "object":
        return value === null ? null : yield* this.#object(value, depth);
      case "function":
      case "symbol":
        return this.#left(`[${typeof value}]`);
      case "boolean":
      case "undefined":
      default:
        return value;
    }
  }

  *#text(text: string): Generator<undefined, string, undefined> {
    const room = this.#characters;
    this.#characters = Math.max(0, room - text.length);
    if (text.length > room) {
      this.isWhole = false;
      const cut = text.slice(0, room + this.#hidden.longest);
      return `${yield* this.#hidden.hidingCut(cut, { end: cut.length < text.length })}…`;
    }
    const told = yield* this.#hidden.hiding(text);
    this.hasHidden ||= told !== text;
    return told;
  }

  #number(number: number | bigint): unknown {
    const told = this.#hidden.hideNumber(String(number));
    this.hasHidden ||= told !== undefined;
    return told ?? number;
  }

  *#object(value: object, depth: number): Generator<undefined, unknown, undefined> {
    const known = this.#copies.get(value);
    if (known !== undefined) return known;
    if (depth > DEEPEST) return this.#left("[more]");
    if (Array.isArray(value)) return yield* this.#array(value as unknown[], depth);
    const isError = value instanceof Error;
    if (!isError && !isPlain(value))
      return this.#left(`[${Object.prototype.toString.call(value).slice(8, -1)}]`);
    const copy: Record<string, unknown> = {};
    this.#copies.set(value, copy);
    const own = Reflect.ownKeys(value);
    // Those of `DOMException` are not its own.
    for (const key of isError ? new Set(["name", "message", "stack", ...own]) : own) {
      if (this.#values >= MOST_VALUES) {
        this.isWhole = false;
        break;
      }
      const name = yield* this.#text(String(key));
      const part = yield* this.at(this.#read(value, key), depth + 1);
      Object.defineProperty(copy, name, {
        value: part,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return copy;
  }

  *#array(items: readonly unknown[], depth: number): Generator<undefined, unknown, undefined> {
    const copy: unknown[] = [];
    this.#copies.set(items, copy);
    for (let at = 0; at < items.length; at++) {
      if (this.#values >= MOST_VALUES) {
        copy.push(this.#left("[more]"));
        break;
      }
      copy.push(yield* this.at(items[at], depth + 1));
    }
    return copy;
  }

  /** What somebody wrote to be run when it is read is not read. */
  #read(value: object, key: string | symbol): unknown {
    const isOfErrors = value instanceof Error && (key === "stack" || key === "name" || key === "message");
    const descriptor = Reflect.getOwnPropertyDescriptor(value, key);
    if (descriptor?.get !== undefined && !isOfErrors) return this.#left("[getter]");
    try {
      return Reflect.get(value, key);
    } catch {
      return this.#left("[unreadable]");
    }
  }

  #left(note: string): string {
    this.isWhole = false;
    return note;
  }
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
