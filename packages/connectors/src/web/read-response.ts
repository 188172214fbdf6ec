/**
 * Reads the body of a response within a bound, and decodes it by its media type. Runs on the host.
 *
 * - Bytes are counted while they arrive, after decompression. A body that is too large is cancelled, never held.
 * - What is no text stays bytes: nothing is lost by reading it as text.
 */
import { positionOf } from "../backend/parse-position.ts";
import { Bytes } from "../contract/connector.ts";

/** The body has more bytes than the connector takes. */
export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";
}

/** The body is not what its media type says. */
export class BodyUnreadable extends Error {
  override readonly name = "BodyUnreadable";
}

const JSON_TYPE = /^(?:application|text)\/(?:json|[\w.!#$&^-]+\+json)$/u;
const TEXT_TYPE =
  /^(?:text\/.*|application\/(?:xml|[\w.!#$&^-]+\+xml|javascript|ecmascript|x-www-form-urlencoded|yaml|x-yaml|graphql|sql|toml|x-ndjson|ndjson|jsonl|jsonlines|json-seq|x-sh)|image\/svg\+xml)$/u;

export interface MediaType {
  /** Lower-case, without parameters; empty if none was given. */
  readonly essence: string;
  readonly charset: string;
}

export function parseMediaType(header: string | null): MediaType {
  const [essence = "", ...parameters] = (header ?? "").split(";");
  const charset = parameters
    .map((parameter) => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/iu.exec(parameter)?.[1])
    .find((found) => found !== undefined);
  return { essence: essence.trim().toLowerCase(), charset: (charset ?? "utf-8").toLowerCase() };
}

export function isJsonType(essence: string): boolean {
  return JSON_TYPE.test(essence);
}

export function isTextType(essence: string): boolean {
  return TEXT_TYPE.test(essence);
}

/** Reads at most so many bytes: `isWhole` says whether there were no more. */
export async function readUpTo(
  response: Response,
  most: number,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly isWhole: boolean }> {
  const reader = response.body?.getReader();
  if (reader === undefined) return { bytes: new Uint8Array(), isWhole: true };
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { bytes: Buffer.concat(chunks, length), isWhole: true };
      chunks.push(value);
      length += value.byteLength;
      if (length > most) return { bytes: Buffer.concat(chunks, length).subarray(0, most), isWhole: false };
    }
  } finally {
    // Ends the request if the body is not at its end.
    void reader.cancel().catch(() => {});
  }
}

/** The whole body as bytes, whatever it is. */
export async function readBytes(response: Response, most: number): Promise<Bytes> {
  const bytes = await readWhole(response, most);
  return bytesOf(response, bytes, parseMediaType(response.headers.get("content-type")).essence);
}

async function readWhole(response: Response, most: number): Promise<Uint8Array> {
  const { bytes, isWhole } = await readUpTo(response, most);
  if (!isWhole) throw new BodyTooLarge();
  return bytes;
}

function bytesOf({ headers }: Response, bytes: Uint8Array, essence: string): Bytes {
  const filename = filenameOf(headers.get("content-disposition"));
  return new Bytes(bytes, {
    ...(essence === "" ? {} : { mediaType: essence }),
    ...(filename === undefined ? {} : { filename }),
  });
}

/** The whole body, decoded. */
export async function readData(response: Response, most: number): Promise<unknown> {
  const bytes = await readWhole(response, most);
  const { essence, charset } = parseMediaType(response.headers.get("content-type"));
  if (bytes.length === 0) return essence === "" || isJsonType(essence) ? null : emptyOf(essence);
  if (isJsonType(essence)) return parseJson(new TextDecoder().decode(bytes));
  if (isTextType(essence)) {
    const text = decode(bytes, charset);
    if (text !== undefined) return text;
  }
  const text = essence === "" ? decodeUnnamed(bytes) : undefined;
  if (text !== undefined) return text;
  return bytesOf(response, bytes, essence);
}

function emptyOf(essence: string): unknown {
  return isTextType(essence) ? "" : new Bytes(new Uint8Array(), { mediaType: essence });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BodyUnreadable(`its body is called JSON, and is none${positionOf(error)}`);
  }
}

function decode(bytes: Uint8Array, charset: string): string | undefined {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return undefined;
  }
}

/** What has no media type is text if it can be. */
function decodeUnnamed(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The last part of a suggested name: nobody asked for a directory. */
function filenameOf(disposition: string | null): string | undefined {
  const named = /filename\*\s*=\s*utf-8''([^;\s]+)/iu.exec(disposition ?? "")?.[1];
  const name =
    (named === undefined ? undefined : decodeName(named)) ??
    /filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/iu
      .exec(disposition ?? "")
      ?.slice(1)
      .find(Boolean);
  const last = name?.split(/[/\\]/u).at(-1);
  return last === undefined || last === "" || last === "." || last === ".." ? undefined : last;
}

function decodeName(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
