/**
 * Response: what a fetch gives, and what a program makes itself. Runs inside the guest.
 *
 * - A response of a fetch keeps a UTF-8 body as text, byte order mark included, and any other body as bytes. Its headers
 *   are read-only.
 */
import { dressClass, requireArguments } from "../../expose.ts";
import { at, defineVisible, hasOwn, jsonStringify, primordial, regExpExec } from "../../primordials.ts";
import { base64ToBytes } from "../../web/encoding-text.ts";
import { addMissingHeader, copyHeaders, freezeHeaders, Headers, pairsOf } from "../../web/headers.ts";
import { toText, toWellFormedText } from "../../web/webidl.ts";
import { parseUrl } from "../../url/url-parser.ts";
import { renderUrl } from "../../url/url-record.ts";
import type { ResponseRecord } from "../../web/fetch.ts";
import {
  addBodyMethods,
  type BodyState,
  type Carrier,
  cloneBody,
  createBody,
  extractBody,
  NO_CONTENT,
} from "./body.ts";

const { Number, Object, RangeError, TypeError } = primordial;
const REASON = /^[\t -~\x80-\xff]*$/;

interface ResponseState extends Carrier {
  readonly type: string;
  readonly url: string;
  readonly status: number;
  readonly statusText: string;
  readonly redirected: boolean;
}

let next: ResponseState | undefined;
let responseStateOf: (value: unknown) => ResponseState;

function make(state: ResponseState): Response {
  next = state;
  return new Response();
}

/** The response of a fetch. */
export function toResponse(record: ResponseRecord): Response {
  const headers = new Headers(record.headers);
  freezeHeaders(headers);
  const { url, status, statusText, redirected } = record;
  return make({ type: "basic", url, status, statusText, redirected, headers, body: bodyOf(record) });
}

/** Reads own properties only: the record may lack one of the two, and a prototype must not supply it. */
function bodyOf(record: ResponseRecord): BodyState {
  if (isBodiless(record.status)) return createBody(NO_CONTENT);
  if (hasOwn(record, "body")) return createBody({ kind: "text", text: record.body as string });
  const text = hasOwn(record, "bodyBase64") ? (record.bodyBase64 as string) : "";
  return createBody({ kind: "bytes", bytes: base64ToBytes(text) });
}

function isBodiless(status: number): boolean {
  return status === 101 || status === 103 || status === 204 || status === 205 || status === 304;
}

interface ResponseInit {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
}

function readInit(given: unknown): ResponseInit {
  if (given === undefined || given === null) return { status: 200, statusText: "", headers: new Headers() };
  if (typeof given !== "object" && typeof given !== "function") {
    throw new TypeError(
      "Cannot make a response: the second argument is not an object of { status, headers }",
    );
  }
  const init = given as {
    readonly headers?: unknown;
    readonly status?: unknown;
    readonly statusText?: unknown;
  };
  const { headers } = init;
  const status = init.status === undefined ? 200 : toStatus(init.status);
  const { statusText } = init;
  const reason = statusText === undefined ? "" : toText(statusText);
  if (regExpExec(REASON, reason) === null) {
    throw new TypeError("Cannot make a response: statusText has a character that a status line cannot have");
  }
  if (status < 200 || status > 599) {
    throw new RangeError("Cannot make a response: the status must be from 200 to 599");
  }
  return { status, statusText: reason, headers: new Headers(headers === null ? undefined : headers) };
}

/** An unsigned number of 16 bits. */
function toStatus(value: unknown): number {
  return Number(value) & 0xffff;
}

function build(body: unknown, init: ResponseInit, impliedType?: string): ResponseState {
  const { status, statusText, headers } = init;
  const state = { type: "default", url: "", status, statusText, redirected: false, headers };
  if (body === undefined || body === null) return { ...state, body: createBody(NO_CONTENT) };
  if (isBodiless(status)) {
    throw new TypeError(`Cannot make a response: one with status ${status} has no body, leave the body out`);
  }
  const extracted = extractBody(body);
  const type = impliedType ?? extracted.type;
  if (type !== undefined) addMissingHeader(headers, "content-type", type);
  return { ...state, body: extracted.body };
}

export class Response {
  readonly #state: ResponseState;

  static {
    responseStateOf = (value) => (value as Response).#state;
  }

  constructor(body: unknown = undefined, init: unknown = undefined) {
    if (next === undefined) this.#state = build(body, readInit(init));
    else {
      this.#state = next;
      next = undefined;
    }
  }

  static error(): Response {
    const headers = new Headers();
    freezeHeaders(headers);
    const body = createBody(NO_CONTENT);
    return make({ type: "error", url: "", status: 0, statusText: "", redirected: false, headers, body });
  }

  static json(value: unknown, init: unknown = undefined): Response {
    requireArguments("make a response", arguments.length, 1);
    const text = jsonStringify(value) as string | undefined;
    if (text === undefined)
      throw new TypeError("Cannot make a response: the value cannot be written as JSON");
    return make(build(text, readInit(init), "application/json"));
  }

  static redirect(url: unknown, status: unknown = 302): Response {
    requireArguments("make a redirect", arguments.length, 1);
    const parsed = parseUrl(toWellFormedText(url), undefined);
    if (parsed === undefined) throw new TypeError("Cannot make a redirect: the URL is not absolute");
    const code = toStatus(status);
    if (code !== 301 && code !== 302 && code !== 303 && code !== 307 && code !== 308) {
      throw new RangeError("Cannot make a redirect: the status must be 301, 302, 303, 307 or 308");
    }
    const headers = new Headers();
    addMissingHeader(headers, "location", renderUrl(parsed));
    freezeHeaders(headers);
    const body = createBody(NO_CONTENT);
    return make({ type: "default", url: "", status: code, statusText: "", redirected: false, headers, body });
  }

  get type(): string {
    return this.#state.type;
  }

  get url(): string {
    return this.#state.url;
  }

  get redirected(): boolean {
    return this.#state.redirected;
  }

  get status(): number {
    return this.#state.status;
  }

  get ok(): boolean {
    return this.#state.status >= 200 && this.#state.status <= 299;
  }

  get statusText(): string {
    return this.#state.statusText;
  }

  get headers(): Headers {
    return this.#state.headers;
  }

  clone(): Response {
    const state = this.#state;
    const body = cloneBody(state.body);
    let { headers } = state;
    if (state.type === "default") headers = copyHeaders(headers);
    return make({ ...state, headers, body });
  }

  /** Leaves the body out; its own functions read it. */
  toJSON(): object {
    const { ok, status, statusText, url, redirected } = this;
    const headers = new Object();
    const pairs = pairsOf(this.#state.headers);
    for (let i = 0; i < pairs.length; i += 1) defineVisible(headers, at(pairs, i).name, at(pairs, i).value);
    return { ok, status, statusText, url, redirected, headers };
  }
}

addBodyMethods(Response.prototype, responseStateOf!);
dressClass("Response", Response);
