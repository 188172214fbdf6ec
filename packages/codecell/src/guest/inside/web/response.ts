/**
 * Response: the result of a fetch. It is read-only; its body is complete and can be read once. Runs inside the guest.
 *
 * - A body that is UTF-8 is kept as text, byte order mark included; any other body is kept as base64. So the bytes are
 *   always exact.
 * - Only the prelude makes responses; the class is not a global.
 */
import { base64ToBytes, encodeUtf8, Utf8Decoder } from "./encoding-text.ts";
import { dressClass } from "../expose.ts";
import { freezeHeaders, Headers, pairsOf } from "./headers.ts";
import {
  at,
  defineVisible,
  hasOwn,
  jsonParse,
  primordial,
  stringCharAt,
  stringSlice,
  typedArrayBuffer,
  typedArrayLength,
} from "../primordials.ts";

const { Object, TypeError } = primordial;

/** A response as it crosses from the host. */
export interface ResponseRecord {
  readonly url: string;
  readonly status: number;
  readonly statusText: string;
  readonly redirected: boolean;
  readonly headers: object;
  /** Absent if the body is not UTF-8; then the body is in `bodyBase64`. */
  readonly body?: string;
  readonly bodyBase64?: string;
}

let isMaking = false;

export function toResponse(record: ResponseRecord): Response {
  const headers = new Headers(record.headers);
  freezeHeaders(headers);
  return make(record, headers);
}

function make(record: ResponseRecord, headers: Headers): Response {
  isMaking = true;
  try {
    return new Response(record, headers);
  } finally {
    isMaking = false;
  }
}

class Response {
  readonly #record: ResponseRecord;
  readonly #headers: Headers;
  #isUsed = false;

  constructor(record: ResponseRecord, headers: Headers) {
    if (!isMaking) throw new TypeError("Illegal constructor");
    isMaking = false;
    this.#record = record;
    this.#headers = headers;
  }

  get ok(): boolean {
    return this.#record.status >= 200 && this.#record.status <= 299;
  }

  get status(): number {
    return this.#record.status;
  }

  get statusText(): string {
    return this.#record.statusText;
  }

  get url(): string {
    return this.#record.url;
  }

  get redirected(): boolean {
    return this.#record.redirected;
  }

  get headers(): Headers {
    return this.#headers;
  }

  get bodyUsed(): boolean {
    return this.#isUsed;
  }

  async text(): Promise<string> {
    return this.#takeText();
  }

  async json(): Promise<unknown> {
    return jsonParse(this.#takeText()) as unknown;
  }

  async bytes(): Promise<Uint8Array> {
    return this.#takeBytes();
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return typedArrayBuffer(this.#takeBytes());
  }

  clone(): Response {
    if (this.#isUsed)
      throw new TypeError("Cannot clone the response: its body was already read, clone it before reading");
    return make(this.#record, this.#headers);
  }

  /** Leaves the body out; its own functions read it. */
  toJSON(): object {
    const headers = new Object();
    const pairs = pairsOf(this.#headers);
    for (let i = 0; i < pairs.length; i += 1) defineVisible(headers, at(pairs, i).name, at(pairs, i).value);
    const { ok, status, statusText, url, redirected } = this;
    return { ok, status, statusText, url, redirected, headers };
  }

  #take(): void {
    if (this.#isUsed) {
      throw new TypeError(
        "Cannot read the body: it was already read, keep the first result or clone() before reading",
      );
    }
    this.#isUsed = true;
  }

  #takeText(): string {
    this.#take();
    const text = textOf(this.#record) ?? decode(bytesOf(this.#record));
    return stringCharAt(text, 0) === "\uFEFF" ? stringSlice(text, 1) : text;
  }

  #takeBytes(): Uint8Array {
    this.#take();
    return bytesOf(this.#record);
  }
}

/** Reads own properties only: the record may lack one of the two, and a prototype must not supply it. */
function textOf(record: ResponseRecord): string | undefined {
  return hasOwn(record, "body") ? record.body : undefined;
}

function bytesOf(record: ResponseRecord): Uint8Array {
  const text = textOf(record);
  if (text !== undefined) return encodeUtf8(text);
  return base64ToBytes(hasOwn(record, "bodyBase64") ? (record.bodyBase64 as string) : "");
}

function decode(bytes: Uint8Array): string {
  return new Utf8Decoder(false).decode(bytes, typedArrayLength(bytes), false);
}

dressClass("Response", Response);
