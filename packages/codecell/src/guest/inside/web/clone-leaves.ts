/**
 * Clone leaves: clones values that hold no other guest values, and refuses values that cannot be cloned. Runs inside
 * the guest.
 */
import type { Brand } from "../brands.ts";
import {
  arrayBufferByteLength,
  captureGetter,
  dataViewBuffer,
  dataViewByteLength,
  dataViewByteOffset,
  defineHidden,
  DOMException,
  type DOMExceptionConstructor,
  getOwnPropertyDescriptor,
  hasOwn,
  mapGet,
  mapSet,
  ownData,
  primordial,
  regExpFlagsOf,
  regExpSource,
  typedArrayBuffer,
  typedArrayByteOffset,
  typedArrayKind,
  typedArrayLength,
  typedArraySet,
  uncurryThis,
} from "../primordials.ts";
import { loadedPart } from "../parts.ts";
import { toText } from "./webidl.ts";

const { ArrayBuffer, DataView, Date, Error, Map, Object, RegExp, Uint8Array } = primordial;
const dateTime = uncurryThis(Date.prototype.getTime);
const errorStack = captureGetter<unknown>(Error.prototype, "stack");
const domName = captureGetter<string>(DOMException.prototype, "name");
const domMessage = captureGetter<string>(DOMException.prototype, "message");
const bufferIsDetached = captureGetter<boolean>(ArrayBuffer.prototype, "detached");
const bufferIsResizable = captureGetter<boolean>(ArrayBuffer.prototype, "resizable");
const bufferMaxByteLength = captureGetter<number>(ArrayBuffer.prototype, "maxByteLength");
const numberValue = uncurryThis(Number.prototype.valueOf);
const stringValue = uncurryThis(String.prototype.valueOf);
const booleanValue = uncurryThis(Boolean.prototype.valueOf);
const bigintValue = uncurryThis(BigInt.prototype.valueOf);

type ViewConstructor = new (buffer: ArrayBuffer, byteOffset: number, length?: number) => object;
const viewConstructors = new Map<string, ViewConstructor>();
const errorConstructors = new Map<string, ErrorConstructor>();
const addView = (constructor: { readonly name: string }): unknown =>
  mapSet(viewConstructors, constructor.name, constructor as never);
for (const constructor of [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array]) {
  addView(constructor);
}
for (const constructor of [Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array]) {
  addView(constructor);
}
addView((globalThis as unknown as { readonly Float16Array: { readonly name: string } }).Float16Array);
for (const constructor of [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]) {
  mapSet(errorConstructors, constructor.name, constructor);
}

export function refuse(what: string): InstanceType<DOMExceptionConstructor> {
  return new DOMException(`${what} could not be cloned`, "DataCloneError");
}

export function isDetached(buffer: object): boolean {
  return bufferIsDetached(buffer);
}

export function cloneBuffer(source: object): ArrayBuffer {
  if (bufferIsDetached(source)) throw refuse("A detached ArrayBuffer");
  const byteLength = arrayBufferByteLength(source);
  const target = bufferIsResizable(source)
    ? new ArrayBuffer(byteLength, { maxByteLength: bufferMaxByteLength(source) })
    : new ArrayBuffer(byteLength);
  typedArraySet(new Uint8Array(target), new Uint8Array(source as ArrayBuffer));
  return target;
}

export function cloneView(
  source: object,
  brand: "TypedArray" | "DataView",
  cloneOf: (buffer: object) => ArrayBuffer,
): object {
  if (brand === "DataView") {
    const buffer = dataViewBuffer(source);
    if (bufferIsDetached(buffer)) throw refuse("A DataView of a detached ArrayBuffer");
    const byteOffset = dataViewByteOffset(source);
    return new DataView(cloneOf(buffer), byteOffset, dataViewByteLength(source));
  }
  const buffer = typedArrayBuffer(source);
  const constructor = mapGet(viewConstructors, typedArrayKind(source) as string);
  if (constructor === undefined) throw refuse("A typed array of unknown kind");
  const byteOffset = typedArrayByteOffset(source);
  const length = typedArrayLength(source);
  return new constructor(cloneOf(buffer), byteOffset, length);
}

/** Clones an error without its cause, which may hold anything. */
export function cloneError(source: object): Error {
  const given = (source as { readonly name?: unknown }).name;
  const name = given === undefined ? "Error" : toText(given);
  const constructor = mapGet(errorConstructors, name) ?? Error;
  const message = getOwnPropertyDescriptor(source, "message");
  const target =
    message !== undefined && hasOwn(message, "value")
      ? new constructor(toText(message.value))
      : new constructor();
  const stack = hasOwn(source, "stack") ? ownData(source, "stack") : errorStack(source);
  if (typeof stack === "string") defineHidden(target, "stack", stack);
  return target;
}

export function cloneLeaf(source: object, brand: Brand): object {
  switch (brand) {
    case "Date":
      return new Date(dateTime(source));
    case "RegExp":
      return new RegExp(regExpSource(source), regExpFlagsOf(source));
    case "Number":
      return Object(numberValue(source)) as object;
    case "String":
      return Object(stringValue(source)) as object;
    case "Boolean":
      return Object(booleanValue(source)) as object;
    case "BigInt":
      return Object(bigintValue(source)) as object;
    case "DOMException":
      return new DOMException(domMessage(source), domName(source));
    case "Platform": {
      const blob = loadedPart("body")?.cloneBlob(source);
      if (blob === undefined) throw refuse("A platform object");
      return blob;
    }
    default:
      throw refuse(`A ${brand}`);
  }
}
