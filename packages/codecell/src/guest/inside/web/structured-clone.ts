/**
 * Structured clone: HTML's structuredClone for every value that the guest can have. Runs inside the guest.
 *
 * - Iterative: depth costs heap, never stack. Visits properties in the standard's order.
 * - Getters of plain objects run, as the standard says; proxies are refused before any trap can run.
 * - Errors keep name, message, stack and cause. Shared buffers, functions, symbols, promises, weak collections,
 *   generators, and platform objects other than DOMException, Blob and File are refused with DataCloneError.
 * - A transferred buffer is copied, then the original is detached: the guest cannot tell the difference.
 */
import { brandOf } from "../brands.ts";
import { cloneBuffer, cloneError, cloneLeaf, cloneView, isDetached, refuse } from "./clone-leaves.ts";
import { exposeGlobal, requireArguments } from "../expose.ts";
import {
  append,
  at,
  defineHidden,
  defineVisible,
  hasOwn,
  keys,
  type List,
  list,
  mapEntries,
  mapGet,
  mapNext,
  mapSet,
  ownData,
  primordial,
  setAdd,
  setHas,
  setNext,
  setValues,
  uncurryThis,
} from "../primordials.ts";

const { Map, Set, TypeError } = primordial;
const bufferTransfer = uncurryThis(ArrayBuffer.prototype.transfer);

/** A container whose parts are still to be cloned: property keys, set items, or map keys and values alternately. */
type Frame = {
  readonly kind: "properties" | "map" | "set" | "cause";
  readonly source: object;
  readonly target: object;
  readonly parts: List<unknown>;
  next: number;
  mapKey: unknown;
};

type Job = { readonly seen: Map<object, object>; readonly frames: List<Frame> };

function cloneAll(value: unknown): unknown {
  const job: Job = { seen: new Map(), frames: list() };
  const root = enter(value, job);
  while (job.frames.length > 0) {
    const frame = at(job.frames, job.frames.length - 1);
    if (frame.next >= frame.parts.length) job.frames.length -= 1;
    else step(frame, job);
  }
  return root;
}

function step(frame: Frame, job: Job): void {
  const part = at(frame.parts, frame.next);
  frame.next += 1;
  switch (frame.kind) {
    case "properties": {
      const key = part as string;
      if (!hasOwn(frame.source, key)) return;
      defineVisible(frame.target, key, enter((frame.source as { [key: string]: unknown })[key], job));
      return;
    }
    case "map": {
      const cloned = enter(part, job);
      if (frame.next % 2 === 1) frame.mapKey = cloned;
      else mapSet(frame.target as Map<unknown, unknown>, frame.mapKey, cloned);
      return;
    }
    case "set":
      setAdd(frame.target as Set<unknown>, enter(part, job));
      return;
    case "cause":
      defineHidden(frame.target, "cause", enter(part, job));
      return;
    default:
      frame.kind satisfies never;
  }
}

/** The clone of a value. The clone of a container is empty at first, with a frame on the stack. */
function enter(value: unknown, job: Job): unknown {
  if (typeof value === "symbol") throw refuse("A symbol");
  if (typeof value !== "function" && (typeof value !== "object" || value === null)) return value;
  const known = mapGet(job.seen, value);
  if (known !== undefined) return known;
  const target = enterObject(value, job);
  mapSet(job.seen, value, target);
  return target;
}

function enterObject(source: object, job: Job): object {
  const brand = brandOf(source);
  switch (brand) {
    case "Object":
      return open("properties", source, {}, keys(source), job);
    case "Array":
      return open("properties", source, emptyArray((source as unknown[]).length), keys(source), job);
    case "Map":
      return open("map", source, new Map(), mapParts(source as Map<unknown, unknown>), job);
    case "Set":
      return open("set", source, new Set(), setParts(source as Set<unknown>), job);
    case "Error": {
      const causes = list<unknown>();
      if (hasOwn(source, "cause")) append(causes, ownData(source, "cause"));
      return open("cause", source, cloneError(source), causes, job);
    }
    case "ArrayBuffer":
      return cloneBuffer(source);
    case "TypedArray":
    case "DataView":
      return cloneView(source, brand, (buffer) => enter(buffer, job) as ArrayBuffer);
    default:
      return cloneLeaf(source, brand);
  }
}

function emptyArray(length: number): unknown[] {
  const made: unknown[] = [];
  made.length = length;
  return made;
}

function open(kind: Frame["kind"], source: object, target: object, parts: List<unknown>, job: Job): object {
  append(job.frames, { kind, source, target, parts, next: 0, mapKey: undefined });
  return target;
}

function mapParts(source: Map<unknown, unknown>): List<unknown> {
  const parts = list<unknown>();
  const cursor = mapEntries(source);
  for (let entry = mapNext(cursor); entry.done !== true; entry = mapNext(cursor)) {
    append(parts, entry.value[0]);
    append(parts, entry.value[1]);
  }
  return parts;
}

function setParts(source: Set<unknown>): List<unknown> {
  const parts = list<unknown>();
  const cursor = setValues(source);
  for (let entry = setNext(cursor); entry.done !== true; entry = setNext(cursor)) append(parts, entry.value);
  return parts;
}

function readTransfer(options: unknown): List<object> {
  const buffers = list<object>();
  if (options === undefined || options === null) return buffers;
  if (typeof options !== "object" && typeof options !== "function") {
    throw new TypeError("Cannot clone: the options are not an object");
  }
  const given = (options as { readonly transfer?: Iterable<unknown> }).transfer;
  if (given === undefined) return buffers;
  const seen = new Set<unknown>();
  for (const item of given) {
    if (typeof item !== "object" || item === null || brandOf(item) !== "ArrayBuffer") {
      throw refuse("A value in the transfer list");
    }
    if (setHas(seen, item) || isDetached(item))
      throw refuse("An ArrayBuffer that is detached or listed twice");
    setAdd(seen, item);
    append(buffers, item);
  }
  return buffers;
}

const methods = {
  structuredClone(value: unknown, options?: unknown): unknown {
    requireArguments("clone", arguments.length, 1);
    const buffers = readTransfer(options);
    const cloned = cloneAll(value);
    for (let i = 0; i < buffers.length; i += 1) bufferTransfer(at(buffers, i));
    return cloned;
  },
};
defineHidden(methods.structuredClone, "length", 1);

export function installStructuredClone(): void {
  exposeGlobal("structuredClone", methods.structuredClone);
}
