/**
 * Makes the bodies of requests. Runs on the host.
 *
 * - Bytes arrive as they are, or are refused.
 * - A name or a file name cannot end its line: the parts of a multipart body are those that were meant.
 */
import { randomUUID } from "node:crypto";
import { Bytes } from "../contract/connector.ts";
import { type Body, isHeaderValue } from "./draft.ts";
import { InputRefused } from "./input-refused.ts";
import { isBytes, toJsonText, toText } from "./text.ts";

export function jsonBody(name: string, value: unknown, mediaType = "application/json"): Body {
  return { bytes: utf8(toJsonText(name, value)), mediaType };
}

/** Of pairs that are encoded already. */
export function formBody(pairs: readonly string[]): Body {
  return { bytes: utf8(pairs.join("&")), mediaType: "application/x-www-form-urlencoded" };
}

/** Bytes as they are, and text in UTF-8. */
export function rawBody(name: string, value: unknown, mediaType: string): Body {
  if (!isBytes(value)) return { bytes: utf8(toText(name, value)), mediaType };
  const own = value instanceof Bytes ? value.mediaType : undefined;
  // A description that takes several types leaves the choice to who has the bytes.
  const chosen = mediaType.includes("*") ? (own ?? "application/octet-stream") : mediaType;
  if (!isHeaderValue(chosen)) throw new InputRefused(`"${name}" has a media type that no header can carry`);
  return { bytes: bytesOf(value), mediaType: chosen };
}

export interface Part {
  readonly name: string;
  readonly value: unknown;
  /** Of the part; chosen by the value if absent. */
  readonly mediaType?: string | undefined;
}

export function multipartBody(parts: readonly Part[]): Body {
  const boundary = `codecell-${randomUUID()}`;
  const pieces = parts.flatMap((part) => [
    Buffer.from(`--${boundary}\r\n${headersOf(part)}\r\n`),
    contentOf(part),
    LINE,
  ]);
  const bytes = Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
  return { bytes: ownBytes(bytes), mediaType: `multipart/form-data; boundary=${boundary}` };
}

/** A body in JSON, and bytes that it is about. */
export function relatedBody(about: Body, media: Body): Body {
  const boundary = `codecell-${randomUUID()}`;
  const pieces = [about, media].flatMap(({ bytes, mediaType }) => [
    Buffer.from(`--${boundary}\r\nContent-Type: ${mediaType}\r\n\r\n`),
    bytes,
    LINE,
  ]);
  const bytes = Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
  return { bytes: ownBytes(bytes), mediaType: `multipart/related; boundary=${boundary}` };
}

const LINE = Buffer.from("\r\n");

function headersOf({ name, value, mediaType }: Part): string {
  const filename = isBytes(value) ? `; filename="${quoted(filenameOf(value))}"` : "";
  const type = mediaType ?? typeOf(value);
  if (!isHeaderValue(type)) throw new InputRefused(`"${name}" has a media type that no header can carry`);
  const line = type === "" ? "" : `Content-Type: ${type}\r\n`;
  return `Content-Disposition: form-data; name="${quoted(name)}"${filename}\r\n${line}`;
}

function contentOf({ name, value, mediaType }: Part): Uint8Array {
  if (isBytes(value)) return bytesOf(value);
  return utf8(mediaType?.includes("json") === true ? toJsonText(name, value) : toText(name, value));
}

function typeOf(value: unknown): string {
  if (value instanceof Bytes) return value.mediaType ?? "application/octet-stream";
  if (isBytes(value)) return "application/octet-stream";
  return typeof value === "object" && value !== null ? "application/json" : "";
}

function filenameOf(value: Bytes | Uint8Array): string {
  return (value instanceof Bytes ? value.filename : undefined) ?? "file";
}

/** As browsers write names in a multipart body. */
function quoted(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('"', "%22")
    .replaceAll("\r", "%0D")
    .replaceAll("\n", "%0A")
    .replaceAll("\0", "%00");
}

function bytesOf(value: Bytes | Uint8Array): Uint8Array<ArrayBuffer> {
  return ownBytes(value instanceof Bytes ? value.bytes : value);
}

/** `fetch` takes bytes that no other thread can change. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return ownBytes(Buffer.from(text.toWellFormed(), "utf8"));
}
