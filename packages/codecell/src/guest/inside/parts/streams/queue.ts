/**
 * Queue: chunks with their sizes, in order, and the strategies that measure them. Runs inside the guest.
 *
 * - Taking a chunk costs the same however many there are.
 */
import { dressClass, requireArguments } from "../../expose.ts";
import { append, apply, at, defineConstant, type List, list, primordial } from "../../primordials.ts";

const { Number, RangeError, TypeError } = primordial;

/** A first-in, first-out list. */
export interface Fifo<T> {
  items: List<T | undefined>;
  head: number;
}

const MOST_SPENT = 64;

export function fifo<T>(): Fifo<T> {
  return { items: list(), head: 0 };
}

export function countOf(queue: Fifo<unknown>): number {
  return queue.items.length - queue.head;
}

export function push<T>(queue: Fifo<T>, item: T): void {
  append(queue.items, item);
}

export function peek<T>(queue: Fifo<T>): T | undefined {
  return queue.head < queue.items.length ? at(queue.items, queue.head) : undefined;
}

export function shift<T>(queue: Fifo<T>): T | undefined {
  const item = peek(queue);
  if (queue.head >= queue.items.length) return undefined;
  queue.items[queue.head] = undefined;
  queue.head += 1;
  if (queue.head === queue.items.length) {
    queue.items.length = 0;
    queue.head = 0;
  } else if (queue.head > MOST_SPENT && queue.head * 2 > queue.items.length) {
    const kept = list<T | undefined>();
    for (let i = queue.head; i < queue.items.length; i += 1) append(kept, queue.items[i]);
    queue.items = kept;
    queue.head = 0;
  }
  return item;
}

interface Sized {
  readonly value: unknown;
  readonly size: number;
}

export interface SizedQueue {
  chunks: Fifo<Sized>;
  total: number;
}

export function sizedQueue(): SizedQueue {
  return { chunks: fifo(), total: 0 };
}

export function enqueueSized(queue: SizedQueue, value: unknown, given: unknown): void {
  const size = Number(given);
  if (!(size >= 0) || size === Infinity) {
    throw new RangeError("Cannot queue the chunk: its size must be a finite number that is not negative");
  }
  push(queue.chunks, { value, size });
  queue.total += size;
}

export function dequeueSized(queue: SizedQueue): unknown {
  const { value, size } = shift(queue.chunks) as Sized;
  queue.total = queue.total - size;
  if (queue.total < 0) queue.total = 0;
  return value;
}

export function clearQueue(queue: SizedQueue): void {
  queue.chunks = fifo();
  queue.total = 0;
}

export type Measure = (chunk: unknown) => unknown;

export interface Strategy {
  readonly measure: Measure;
  readonly mark: number;
}

const countsOne: Measure = () => 1;

/** Reads what the program gives as a strategy; the standard reads the mark before the size. */
export function toStrategy(given: unknown, defaultMark: number): Strategy {
  if (given === undefined || given === null) return { measure: countsOne, mark: defaultMark };
  assertObject(given, "the strategy");
  const { highWaterMark, size } = given as { readonly highWaterMark?: unknown; readonly size?: unknown };
  const wanted = highWaterMark === undefined ? undefined : +(highWaterMark as number);
  if (size !== undefined && typeof size !== "function") {
    throw new TypeError("Cannot use the strategy: its size is not a function, leave it out to count chunks");
  }
  if (wanted !== undefined && !(wanted >= 0)) {
    throw new RangeError("Cannot use the strategy: highWaterMark must be a number that is not negative");
  }
  return {
    measure:
      size === undefined
        ? countsOne
        : (chunk) => apply(size as (chunk: unknown) => unknown, undefined, [chunk]),
    mark: wanted ?? defaultMark,
  };
}

export function assertObject(given: unknown, what: string): asserts given is object {
  if ((typeof given === "object" && given !== null) || typeof given === "function") return;
  throw new TypeError(`Cannot use ${what}: it is not an object`);
}

export type GivenFunction = (...args: unknown[]) => unknown;

/** Reads one function of a source, sink or transformer. */
export function callbackOf(given: object, name: string, what: string): GivenFunction | undefined {
  const callback = (given as { readonly [key: string]: unknown })[name];
  if (callback === undefined) return undefined;
  if (typeof callback === "function") return callback as GivenFunction;
  throw new TypeError(`Cannot use the ${what}: ${name} is not a function`);
}

function readMark(init: unknown): number {
  assertObject(init, "the options of the strategy");
  const { highWaterMark } = init as { readonly highWaterMark?: unknown };
  if (highWaterMark === undefined) {
    throw new TypeError("Cannot make the strategy: it needs { highWaterMark }");
  }
  return +(highWaterMark as number);
}

// One function for all instances of a class, as the standard says.
const byteLengthOf = (chunk: unknown): unknown => (chunk as { readonly byteLength: unknown }).byteLength;
const countsChunk = (): number => 1;
defineConstant(byteLengthOf, "name", "size", true);
defineConstant(countsChunk, "name", "size", true);

export class ByteLengthQueuingStrategy {
  readonly #mark: number;

  constructor(init: unknown) {
    requireArguments("make a ByteLengthQueuingStrategy", arguments.length, 1);
    this.#mark = readMark(init);
  }

  get highWaterMark(): number {
    return this.#mark;
  }

  get size(): (chunk: unknown) => unknown {
    return #mark in this ? byteLengthOf : illegal();
  }
}

export class CountQueuingStrategy {
  readonly #mark: number;

  constructor(init: unknown) {
    requireArguments("make a CountQueuingStrategy", arguments.length, 1);
    this.#mark = readMark(init);
  }

  get highWaterMark(): number {
    return this.#mark;
  }

  get size(): () => number {
    return #mark in this ? countsChunk : illegal();
  }
}

function illegal(): never {
  throw new TypeError("Illegal invocation");
}

dressClass("ByteLengthQueuingStrategy", ByteLengthQueuingStrategy);
dressClass("CountQueuingStrategy", CountQueuingStrategy);
