/**
 * EncodeAll: encodes any guest value as JSON text. A part that JSON cannot carry is replaced by a text that says what
 * it was; everything around it is kept. Runs inside the guest.
 *
 * - Throws only if memory or stack run out.
 */
import { encode } from "./encode.ts";
import {
  append,
  apply,
  arrayBufferByteLength,
  arrayJoin,
  at,
  bigintToString,
  isArray,
  isError,
  jsonStringify,
  keys as keysOf,
  type List,
  list,
  mapEntries,
  mapNext,
  numberToString,
  primordial,
  regExpSource,
  setNext,
  setValues,
  stringSlice,
  symbolToString,
  typedArrayKind,
  typedArrayLength,
  uncurryThis,
} from "../primordials.ts";

const objectToString = uncurryThis(primordial.Object.prototype.toString);
const MAX_DEPTH = 100;
const MAX_NAME = 100;

/** Equals `encode` for every value that `encode` accepts. */
export function encodeAll(value: unknown): string {
  try {
    return encode(value, "value");
  } catch {
    return describe(value, list()) ?? "null";
  }
}

/** Undefined for a value that an object leaves out. `path` has the objects between the root and the value. */
function describe(value: unknown, path: List<object>): string | undefined {
  switch (typeof value) {
    case "undefined":
      return undefined;
    case "bigint":
      return jsonStringify(bigintToString(value));
    case "symbol":
      return jsonStringify(symbolToString(value));
    case "function":
      return jsonStringify(`[Function ${nameOf(value)}]`);
    case "object":
      if (value === null) return "null";
      break;
    default:
      return encode(value, "value");
  }
  for (let index = 0; index < path.length; index++) if (at(path, index) === value) return '"[Circular]"';
  if (path.length >= MAX_DEPTH) return '"[Nested too deeply]"';
  append(path, value);
  try {
    return describeObject(value, path);
  } catch (error) {
    return jsonStringify(`[Threw ${messageOf(error)}]`);
  } finally {
    path.length -= 1;
  }
}

function describeObject(value: object, path: List<object>): string | undefined {
  const kind = typedArrayKind(value);
  if (kind !== undefined) return jsonStringify(`[${kind} of ${typedArrayLength(value)} items]`);
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return describe(apply(toJSON, value, [""]), path);
  if (isError(value)) {
    return `{"name":${jsonStringify(`${value.name}`)},"message":${jsonStringify(`${value.message}`)}}`;
  }
  if (isArray(value)) return describeList(value, path);
  const tag = stringSlice(objectToString(value), 8, -1);
  switch (tag) {
    case "Map":
      return collect(mapEntries(value as Map<unknown, unknown>), mapNext, path);
    case "Set":
      return collect(setValues(value as Set<unknown>), setNext, path);
    case "RegExp":
      return jsonStringify(`/${regExpSource(value)}/`);
    case "ArrayBuffer":
      return jsonStringify(`[ArrayBuffer of ${numberToString(arrayBufferByteLength(value))} bytes]`);
    case "Promise":
      return '"[Promise, did you forget to await it]"';
    default:
      return describeRecord(value as Record<string, unknown>, path);
  }
}

function describeList(items: readonly unknown[], path: List<object>): string {
  const parts = list<string>();
  for (let index = 0; index < items.length; index++) append(parts, describe(items[index], path) ?? "null");
  return `[${arrayJoin(parts, ",")}]`;
}

function describeRecord(value: Record<string, unknown>, path: List<object>): string {
  const parts = list<string>();
  const names = keysOf(value);
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as string;
    const part = describeField(value, name, path);
    if (part !== undefined) append(parts, `${jsonStringify(name)}:${part}`);
  }
  return `{${arrayJoin(parts, ",")}}`;
}

/** A getter that throws costs only its own field. */
function describeField(value: Record<string, unknown>, name: string, path: List<object>): string | undefined {
  let field: unknown;
  try {
    field = value[name];
  } catch {
    return '"[Threw when read]"';
  }
  return describe(field, path);
}

function collect(
  iterator: unknown,
  next: (iterator: never) => { readonly done?: boolean; readonly value: unknown },
  path: List<object>,
): string {
  const parts = list<string>();
  for (let step = next(iterator as never); step.done !== true; step = next(iterator as never)) {
    append(parts, describe(step.value, path) ?? "null");
  }
  return `[${arrayJoin(parts, ",")}]`;
}

/** The message of a program's error may be any value. */
function messageOf(error: unknown): string {
  try {
    const message = isError(error) ? (error.message as unknown) : undefined;
    return typeof message === "string" ? stringSlice(message, 0, MAX_NAME) : "a value";
  } catch {
    return "a value";
  }
}

function nameOf(value: object): string {
  try {
    const { name } = value as { name?: unknown };
    return typeof name === "string" && name !== "" ? stringSlice(name, 0, MAX_NAME) : "without a name";
  } catch {
    return "without a name";
  }
}
