/**
 * Body: what requests and responses carry, and the methods with which both are read. Runs inside the guest.
 *
 * - A body is a text, bytes or a stream. A stream of a text or of bytes is made when the program asks for it.
 * - A body is read once: whole by a method, or by a reader of its stream.
 */
import {
  append,
  at,
  defineProperty,
  getOwnPropertyDescriptor,
  jsonParse,
  type List,
  list,
  min,
  ownKeys,
  primordial,
  setPrototypeOf,
  stringToLowerCase,
  typedArrayBuffer,
  typedArrayKind,
  typedArrayLength,
  typedArraySet,
} from "../../primordials.ts";
import { loadedPart, part } from "../../parts.ts";
import { encodeUtf8 } from "../../web/encoding-text.ts";
import { getHeader, type Headers } from "../../web/headers.ts";
import { copyBytes, isBytes, toBytes, toWellFormedText } from "../../web/webidl.ts";
import { isParams, parseForm, renderParams } from "../../url/url-search-params.ts";
import type { ReadableState, ReadableStream } from "../streams/main.ts";
import { chained, rejected, resolved } from "../streams/promises.ts";
import { blobDataOf, ownCopy, decodeUtf8, makeBlob, streamOf, subBytes, withoutMark } from "./blob.ts";
import { entriesOf, type FormData, type FormEntry, makeForm } from "./form-data.ts";
import { essenceOf, normalMimeType, parameterOf } from "./mime-type.ts";
import { parseMultipart, renderMultipart } from "./multipart.ts";

const { TypeError, Uint8Array } = primordial;

/** A body's content, which nobody changes. */
export type Content =
  | { readonly kind: "none" }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "stream" };

export interface BodyState {
  readonly content: Content;
  /** Made on demand where the content is a text or bytes. */
  stream: ReadableState | undefined;
  shown: ReadableStream | undefined;
  /** Whether a method has read the content without a stream. */
  isUsed: boolean;
}

export const NO_CONTENT: Content = { kind: "none" };

export function createBody(content: Content): BodyState {
  return { content, stream: undefined, shown: undefined, isUsed: false };
}

export interface Extracted {
  readonly body: BodyState;
  /** The content type that the body itself implies. */
  readonly type: string | undefined;
}

/** Takes a body from the program. Its bytes are copied. */
export function extractBody(given: unknown): Extracted {
  const stream = loadedPart("streams")?.stateOf(given);
  if (stream !== undefined) {
    const { isLocked } = part("streams");
    if (stream.isDisturbed || isLocked(stream)) {
      throw new TypeError(
        "Cannot use the stream as a body: it is locked or was already read, use a fresh stream",
      );
    }
    const body = createBody({ kind: "stream" });
    body.stream = stream;
    body.shown = given as ReadableStream;
    return { body, type: undefined };
  }
  const { content, type } = extractContent(given);
  return { body: createBody(content), type };
}

function extractContent(given: unknown): { readonly content: Content; readonly type: string | undefined } {
  const data = blobDataOf(given);
  if (data !== undefined) {
    return { content: { kind: "bytes", bytes: data.bytes }, type: data.type === "" ? undefined : data.type };
  }
  if (isBytes(given))
    return { content: { kind: "bytes", bytes: copyBytes(toBytes(given)) }, type: undefined };
  const entries = entriesOf(given);
  if (entries !== undefined) {
    const { bytes, boundary } = renderMultipart(entries);
    return { content: { kind: "bytes", bytes }, type: `multipart/form-data; boundary=${boundary}` };
  }
  if (isParams(given)) {
    return {
      content: { kind: "text", text: renderParams(given) },
      type: "application/x-www-form-urlencoded;charset=UTF-8",
    };
  }
  return { content: { kind: "text", text: toWellFormedText(given) }, type: "text/plain;charset=UTF-8" };
}

function isBodyUsed({ isUsed, stream }: BodyState): boolean {
  return isUsed || stream?.isDisturbed === true;
}

/** Whether the body cannot be read any more, or not now. */
export function isUnusable(body: BodyState): boolean {
  return isBodyUsed(body) || (body.stream !== undefined && part("streams").isLocked(body.stream));
}

export function usedError(action: string): TypeError {
  return new TypeError(
    `Cannot ${action} the body: it was already read, keep the first result or clone() before reading`,
  );
}

function shownStream(body: BodyState): ReadableStream | null {
  const { content } = body;
  if (content.kind === "none") return null;
  if (body.shown === undefined) {
    const streams = part("streams");
    body.stream ??= body.isUsed ? streams.spent() : streamOf(bytesOf(content));
    body.shown = streams.wrap(body.stream);
  }
  return body.shown;
}

function bytesOf(content: Content): Uint8Array {
  if (content.kind === "text") return encodeUtf8(content.text);
  return content.kind === "bytes" ? content.bytes : new Uint8Array(0);
}

/** The other half of a clone. */
export function cloneBody(body: BodyState): BodyState {
  if (isUnusable(body)) throw usedError("clone");
  if (body.stream === undefined) return createBody(body.content);
  const branches = part("streams").tee(body.stream);
  body.stream = branches[0];
  body.shown = undefined;
  const clone = createBody({ kind: "stream" });
  clone.stream = branches[1];
  return clone;
}

type ContentUse = (content: Content) => unknown;

/** Reads the whole body, then makes something of it. */
export function consumeBody(body: BodyState, use: ContentUse): Promise<unknown> {
  try {
    if (isUnusable(body)) throw usedError("read");
    if (body.stream === undefined) {
      body.isUsed = body.content.kind !== "none";
      return chained(resolved(), () => use(body.content));
    }
    const chunks = list<Uint8Array>();
    let total = 0;
    const reading = part("streams").readAll(body.stream, (chunk) => {
      if (typedArrayKind(chunk) !== "Uint8Array") {
        throw new TypeError(
          "Cannot read the body: a chunk of its stream is not a Uint8Array, encode it first",
        );
      }
      append(chunks, chunk as Uint8Array);
      total += typedArrayLength(chunk);
    });
    return chained(reading, () => use({ kind: "bytes", bytes: joined(chunks, total) }));
  } catch (error) {
    return rejected(error);
  }
}

function joined(chunks: List<Uint8Array>, total: number): Uint8Array {
  const bytes = new Uint8Array(total);
  let offset = 0;
  for (let i = 0; i < chunks.length; i += 1) {
    // A chunk that the program has changed meanwhile must not write behind the end.
    const size = min(typedArrayLength(at(chunks, i)), total - offset);
    typedArraySet(bytes, subBytes(at(chunks, i), 0, size), offset);
    offset += size;
  }
  return bytes;
}

function textOf(content: Content): string {
  return content.kind === "text" ? withoutMark(content.text) : decodeUtf8(bytesOf(content));
}

/** Bytes for the program, which may change them. */
function ownBytes(content: Content): Uint8Array {
  return content.kind === "bytes" ? ownCopy(content.bytes) : bytesOf(content);
}

function toForm(content: Content, contentType: string): FormData {
  switch (essenceOf(contentType)) {
    case "multipart/form-data": {
      const boundary = parameterOf(contentType, "boundary", true);
      if (boundary === undefined || boundary === "") {
        throw new TypeError("Cannot read the form: the content type has no boundary");
      }
      return makeForm(parseMultipart(bytesOf(content), boundary));
    }
    case "application/x-www-form-urlencoded": {
      const entries = list<FormEntry>();
      const pairs = parseForm(textOf(content));
      for (let i = 0; i < pairs.length; i += 1)
        append(entries, { name: at(pairs, i).name, value: at(pairs, i).value });
      return makeForm(entries);
    }
    default:
      throw new TypeError(
        "Cannot read the form: the content type is neither multipart/form-data nor application/x-www-form-urlencoded, use text() or json()",
      );
  }
}

/** A request or response, as its body's methods see it. */
export interface Carrier {
  readonly body: BodyState;
  readonly headers: Headers;
}

/** Gives the methods of a body to a class. `carrierOf` throws for objects of other classes. */
export function addBodyMethods(prototype: object, carrierOf: (self: unknown) => Carrier): void {
  const read = (self: unknown, use: (content: Content, contentType: string) => unknown): Promise<unknown> => {
    try {
      const { body, headers } = carrierOf(self);
      return consumeBody(body, (content) => use(content, getHeader(headers, "content-type") ?? ""));
    } catch (error) {
      return rejected(error);
    }
  };
  const methods = {
    get body(): ReadableStream | null {
      return shownStream(carrierOf(this).body);
    },
    get bodyUsed(): boolean {
      return isBodyUsed(carrierOf(this).body);
    },
    arrayBuffer(): Promise<unknown> {
      return read(this, (content) => typedArrayBuffer(ownBytes(content)));
    },
    blob(): Promise<unknown> {
      return read(this, (content, contentType) =>
        makeBlob(bytesOf(content), stringToLowerCase(normalMimeType(contentType))),
      );
    },
    bytes(): Promise<unknown> {
      return read(this, ownBytes);
    },
    formData(): Promise<unknown> {
      return read(this, toForm);
    },
    json(): Promise<unknown> {
      return read(this, (content) => jsonParse(textOf(content)) as unknown);
    },
    text(): Promise<unknown> {
      return read(this, textOf);
    },
  };
  const keys = ownKeys(methods) as List<string>;
  for (let i = 0; i < keys.length; i += 1) {
    const key = at(keys, i);
    const found = getOwnPropertyDescriptor(methods, key) as PropertyDescriptor;
    found.enumerable = false;
    defineProperty(prototype, key, withoutPrototype(found));
  }
}

function withoutPrototype(found: PropertyDescriptor): PropertyDescriptor {
  return setPrototypeOf(found, null) as PropertyDescriptor;
}
