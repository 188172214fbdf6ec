/** Turns values of an input into text for URLs, headers and forms. Runs on the host. */
import { Bytes } from "../contract/connector.ts";
import { InputRefused } from "./input-refused.ts";

/** What `encodeURIComponent` leaves, and RFC 3986 reserves. */
const RESERVED_LEFT = /[!'()*]/gu;
/** Reserved characters that neither end a query nor separate its parameters, or cookies: to some servers a semicolon does. */
const HARMLESS_RESERVED = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|5B|5D)/gu;

/** Leaves only what RFC 3986 calls unreserved. */
export function encodeText(text: string): string {
  if (!text.isWellFormed())
    throw new InputRefused("a text has half of a surrogate pair, which no URL can carry");
  return encodeURIComponent(text).replaceAll(
    RESERVED_LEFT,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** As `encodeText`, but leaves reserved characters where they cannot change what else a query says. */
export function encodeReserved(text: string): string {
  return encodeText(text).replaceAll(HARMLESS_RESERVED, (code) =>
    String.fromCharCode(Number.parseInt(code.slice(1), 16)),
  );
}

/** A value as one text: objects and lists as JSON. */
export function toText(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  return toJsonText(name, value);
}

export function toJsonText(name: string, value: unknown): string {
  const text = JSON.stringify(value, (key, part: unknown) => {
    if (!isBytes(part)) return part;
    throw new InputRefused(`"${key === "" ? name : key}" has bytes, and JSON cannot carry them`);
  }) as string | undefined;
  if (text === undefined) throw new InputRefused(`"${name}" is nothing that JSON can carry`);
  return text;
}

export function isBytes(value: unknown): value is Bytes | Uint8Array {
  return value instanceof Bytes || value instanceof Uint8Array;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isBytes(value);
}

/** What an input has of its own: `constructor` is no input. */
export function ownOf(input: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(input, name) ? input[name] : undefined;
}
