/**
 * Multipart: writes a form as multipart/form-data, and reads one. Runs inside the guest.
 *
 * - Linear: the body becomes a text of one character per byte once, in which the engine looks for boundaries.
 */
import {
  append,
  at,
  list,
  type List,
  primordial,
  regExpExec,
  stringIndexOf,
  stringSlice,
  stringToLowerCase,
  typedArrayLength,
  typedArraySet,
} from "../../primordials.ts";
import { randomBytes } from "../../calls/random.ts";
import { encodeUtf8, latin1Bytes, latin1Text } from "../../web/encoding-text.ts";
import { type BlobData, blobDataOf, ownCopy, decodeUtf8, fileDataOf, makeFile, subBytes } from "./blob.ts";
import type { FormEntry } from "./form-data.ts";
import { replaceBreaks } from "./line-breaks.ts";
import { parameterOf } from "./mime-type.ts";
import { swap } from "../../web/swap.ts";

const { TypeError, Uint8Array } = primordial;
const HEX = "0123456789abcdef";
const QUOTED = /%0A|%0D|%22/g;
const UNSAFE = /[\n\r"]/g;
const DISPOSITION = /^[ \t]*form-data[ \t]*(?:;|$)/i;

export interface Multipart {
  readonly bytes: Uint8Array;
  readonly boundary: string;
}

export function renderMultipart(entries: List<FormEntry>): Multipart {
  const boundary = makeBoundary();
  const chunks = list<Uint8Array>();
  let total = 0;
  const add = (chunk: Uint8Array): void => {
    append(chunks, chunk);
    total += typedArrayLength(chunk);
  };
  for (let i = 0; i < entries.length; i += 1) {
    const { name, value } = at(entries, i);
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(replaceBreaks(name, "\r\n"))}"`;
    if (typeof value === "string") {
      add(encodeUtf8(`${head}\r\n\r\n${replaceBreaks(value, "\r\n")}\r\n`));
      continue;
    }
    const { bytes, type } = blobDataOf(value) as BlobData;
    const called = escapeName(fileDataOf(value)?.name ?? "blob");
    const kind = type === "" ? "application/octet-stream" : type;
    add(encodeUtf8(`${head}; filename="${called}"\r\nContent-Type: ${kind}\r\n\r\n`));
    add(bytes);
    add(encodeUtf8("\r\n"));
  }
  add(encodeUtf8(`--${boundary}--\r\n`));
  const bytes = new Uint8Array(total);
  let offset = 0;
  for (let i = 0; i < chunks.length; i += 1) {
    typedArraySet(bytes, at(chunks, i), offset);
    offset += typedArrayLength(at(chunks, i));
  }
  return { bytes, boundary };
}

/** From the run's seed, as all randomness. */
function makeBoundary(): string {
  const random = new Uint8Array(12);
  randomBytes(random);
  let text = "----formdata-codecell-";
  for (let i = 0; i < 12; i += 1) {
    const byte = random[i] as number;
    text += `${HEX[byte >> 4] as string}${HEX[byte & 15] as string}`;
  }
  return text;
}

function escapeName(name: string): string {
  return swap(name, UNSAFE, (found) => (found === "\n" ? "%0A" : found === "\r" ? "%0D" : "%22"));
}

function unescapeName(name: string): string {
  return swap(name, QUOTED, (found) => (found === "%0A" ? "\n" : found === "%0D" ? "\r" : '"'));
}

/** What one part says of itself, in bytes as characters. */
interface Head {
  name: string | undefined;
  filename: string | undefined;
  type: string | undefined;
}

/** The entries of a body. Throws for a body that is not what its boundary promises. */
export function parseMultipart(bytes: Uint8Array, boundary: string): List<FormEntry> {
  const text = latin1Text(bytes);
  const entries = list<FormEntry>();
  const dashes = `--${boundary}`;
  let from = 0;
  while (stringSlice(text, from, from + 2) === "\r\n") from += 2;
  for (;;) {
    if (stringSlice(text, from, from + dashes.length) !== dashes) throw malformed("a boundary is missing");
    from += dashes.length;
    if (stringSlice(text, from, from + 2) === "--") return entries;
    if (stringSlice(text, from, from + 2) !== "\r\n") throw malformed("a boundary does not end its line");
    from += 2;
    const head: Head = { name: undefined, filename: undefined, type: undefined };
    from = parseHead(text, from, head);
    const end = stringIndexOf(text, `\r\n${dashes}`, from);
    if (end < 0) throw malformed("the last boundary is missing");
    if (head.name === undefined) throw malformed("a part has no name");
    append(entries, toEntry(head, subBytes(bytes, from, end)));
    from = end + 2;
  }
}

function toEntry({ name, filename, type }: Head, content: Uint8Array): FormEntry {
  const decoded = decodeText(name as string);
  if (filename === undefined) return { name: decoded, value: decodeUtf8(content) };
  return { name: decoded, value: makeFile(ownCopy(content), type ?? "text/plain", decodeText(filename)) };
}

/** Reads the lines before a part's content; returns where the content begins. */
function parseHead(text: string, start: number, head: Head): number {
  let from = start;
  for (;;) {
    const end = stringIndexOf(text, "\r\n", from);
    if (end < 0) throw malformed("a part has no content");
    if (end === from) return end + 2;
    const line = stringSlice(text, from, end);
    const colon = stringIndexOf(line, ":");
    if (colon < 1) throw malformed("a header has no name");
    const value = stringSlice(line, colon + 1);
    switch (stringToLowerCase(stringSlice(line, 0, colon))) {
      case "content-disposition":
        if (regExpExec(DISPOSITION, value) === null) throw malformed("a part is not form-data");
        head.name = parameterOf(value, "name", false);
        head.filename = parameterOf(value, "filename", false);
        break;
      case "content-type":
        head.type = trimmed(value);
        break;
      default:
    }
    from = end + 2;
  }
}

const INNER = /[^ \t](?:[^]*[^ \t])?/;

function trimmed(text: string): string {
  const found = regExpExec(INNER, text);
  return found === null ? "" : found[0];
}

function decodeText(latin1: string): string {
  return latin1 === "" ? "" : decodeUtf8(latin1Bytes(unescapeName(latin1)));
}

function malformed(why: string): TypeError {
  return new TypeError(
    `Cannot read the form: ${why}, the body is not the multipart/form-data of its content type`,
  );
}
