/**
 * Inspect names: the names that functions, errors and class instances are shown with. Runs inside the guest.
 *
 * - Names are read from own data properties only; accessors and proxies on the prototype chain are never read.
 */
import { type Brand, isProxy } from "../brands.ts";
import {
  captureGetter,
  DOMException,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  hasOwn,
  isError,
  ownData,
  primordial,
  stringIndexOf,
  stringSlice,
  toStringTag,
  typedArrayKind,
  uncurryThis,
} from "../primordials.ts";

const MAX_CHAIN = 32;
const MAX_NAME = 256;
const arrayPrototype = primordial.Array.prototype;
const errorStack = captureGetter<unknown>(Error.prototype, "stack");
const functionToString = uncurryThis(primordial.Function.prototype.toString);
const domName = captureGetter<string>(DOMException.prototype, "name");
const domMessage = captureGetter<string>(DOMException.prototype, "message");

function shortName(value: unknown): string {
  return typeof value === "string" ? stringSlice(value, 0, MAX_NAME) : "";
}

/** The first property of that name on the prototype chain, if it is a data property with a string. */
function inheritedText(value: object, key: PropertyKey, limit: number): string | undefined {
  let current: object | null = value;
  for (let depth = 0; depth < MAX_CHAIN && current !== null && !isProxy(current); depth += 1) {
    const found = getOwnPropertyDescriptor(current, key);
    if (found !== undefined) {
      const text: unknown = hasOwn(found, "value") ? found.value : undefined;
      return typeof text === "string" ? stringSlice(text, 0, limit) : undefined;
    }
    current = getPrototypeOf(current) as object | null;
  }
  return undefined;
}

function constructorName(value: object): string | undefined {
  let current = getPrototypeOf(value) as object | null;
  for (let depth = 0; depth < MAX_CHAIN && current !== null && !isProxy(current); depth += 1) {
    const maker = ownData(current, "constructor");
    if (typeof maker === "function" && !isProxy(maker)) {
      const name = shortName(ownData(maker, "name"));
      if (name !== "") return name;
    }
    current = getPrototypeOf(current) as object | null;
  }
  return current === null ? undefined : "Object";
}

/** The text before the brace; empty for plain objects and arrays. */
export function describePrototype(value: object, brand: Brand, size: number): string {
  const prototype = getPrototypeOf(value) as object | null;
  if (brand === "Array" && prototype === arrayPrototype) return "";
  const fallback = brand === "TypedArray" ? (typedArrayKind(value) as string) : brand;
  let name = constructorName(value) ?? fallback;
  if (prototype === null) name = `[${fallback}: null prototype]`;
  else if (name === "Object") name = fallback;
  const isSized = brand === "Array" || brand === "TypedArray" || brand === "Map" || brand === "Set";
  const isPlain = brand === "Object" && name === "Object";
  return tagOf(value, name, isPlain ? "" : isSized ? `${name}(${size})` : name);
}

function tagOf(value: object, name: string, shown: string): string {
  if (hasOwn(value, toStringTag)) return shown;
  const tag = inheritedText(value, toStringTag, MAX_NAME);
  if (tag === undefined || tag === "" || tag === name) return shown;
  return `${shown === "" ? name : shown} [${tag}]`;
}

export function describeFunction(value: object): string {
  const name = shortName(ownData(value, "name"));
  const label = name === "" ? "(anonymous)" : name;
  const found = getOwnPropertyDescriptor(value, "prototype");
  if (found?.writable === false && stringIndexOf(functionToString(value), "class") === 0) {
    const parent = getPrototypeOf(value) as object | null;
    const parentName =
      typeof parent === "function" && !isProxy(parent) ? shortName(ownData(parent, "name")) : "";
    return `[class ${label}${parentName === "" ? "" : ` extends ${parentName}`}]`;
  }
  const kind = shortName(inheritedText(value, toStringTag, MAX_NAME)) || "Function";
  return name === "" ? `[${kind} (anonymous)]` : `[${kind}: ${name}]`;
}

export function describeError(value: object, withStack: boolean): string {
  const isDom = !isError(value);
  const name = isDom ? domName(value) : (inheritedText(value, "name", MAX_NAME) ?? "Error");
  const message = isDom ? domMessage(value) : (inheritedText(value, "message", 8192) ?? "");
  const head = message === "" ? name : `${name}: ${message}`;
  const stack = readStack(value);
  if (stack === "") return withStack ? head : `[${head}]`;
  return `${head}\n${stack}`;
}

function readStack(value: object): string {
  const own = getOwnPropertyDescriptor(value, "stack");
  let stack: unknown;
  if (own !== undefined) stack = hasOwn(own, "value") ? own.value : undefined;
  else {
    try {
      stack = errorStack(value);
    } catch {
      stack = undefined;
    }
  }
  if (typeof stack !== "string") return "";
  let end = stack.length < 4096 ? stack.length : 4096;
  while (end > 0 && stack[end - 1] === "\n") end -= 1;
  return stringSlice(stack, 0, end);
}
