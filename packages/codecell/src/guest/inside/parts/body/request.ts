/**
 * Request: a URL with a method, headers and a body. Data only: making one reaches nothing. Runs inside the guest.
 */
import { dressClass, requireArguments } from "../../expose.ts";
import {
  append,
  at,
  type List,
  list,
  ownKeys,
  primordial,
  record,
  regExpExec,
  stringIndexOf,
  stringToUpperCase,
} from "../../primordials.ts";
import { type AbortSignal, combineSignals, isSignal } from "../../web/abort.ts";
import { addMissingHeader, copyHeaders, Headers } from "../../web/headers.ts";
import { toText, toWellFormedText } from "../../web/webidl.ts";
import { parseUrl } from "../../url/url-parser.ts";
import { hasCredentials, renderUrl } from "../../url/url-record.ts";
import {
  addBodyMethods,
  type BodyState,
  type Carrier,
  cloneBody,
  createBody,
  extractBody,
  isUnusable,
  NO_CONTENT,
  usedError,
} from "./body.ts";

const { TypeError } = primordial;
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NORMAL = /^(?:DELETE|GET|HEAD|OPTIONS|POST|PUT)$/i;
const FORBIDDEN = /^(?:CONNECT|TRACE|TRACK)$/i;

/** Members that are kept as they were given, with their values where nothing was given. */
const KEPT = {
  cache: "default",
  credentials: "same-origin",
  integrity: "",
  mode: "cors",
  redirect: "follow",
  referrer: "about:client",
  referrerPolicy: "",
} as const;

type KeptName = keyof typeof KEPT;
const KEPT_NAMES = ownKeys(KEPT) as List<KeptName>;
type KeptMembers = { [Name in KeptName]: string };

const ALLOWED: { readonly [Name in KeptName]: string | undefined } = {
  cache: " default no-store reload no-cache force-cache only-if-cached ",
  credentials: " omit same-origin include ",
  mode: " same-origin no-cors cors ",
  integrity: undefined,
  redirect: " follow error manual ",
  referrer: undefined,
  referrerPolicy:
    "  no-referrer no-referrer-when-downgrade same-origin origin strict-origin origin-when-cross-origin strict-origin-when-cross-origin unsafe-url ",
};

interface RequestState extends Carrier {
  readonly url: string;
  readonly method: string;
  readonly signal: AbortSignal;
  readonly keepalive: boolean;
  readonly kept: KeptMembers;
}

let next: RequestState | undefined;
/** Undefined for what is not a Request. */
export let requestStateOf: (value: unknown) => RequestState | undefined;

type RequestMembers = { readonly [key: string]: unknown };

function toInit(given: unknown): RequestMembers {
  if (given === undefined || given === null) return record<unknown>();
  if (typeof given === "object" || typeof given === "function") return given as RequestMembers;
  throw new TypeError(
    "Cannot make a request: the second argument is not an object of { method, headers, body }",
  );
}

function toMethod(given: unknown): string {
  const method = toText(given);
  if (regExpExec(METHOD, method) === null || regExpExec(FORBIDDEN, method) !== null) {
    throw new TypeError("Cannot make a request: the method is not allowed, use one like GET or POST");
  }
  return regExpExec(NORMAL, method) === null ? method : stringToUpperCase(method);
}

function toUrl(input: unknown): string {
  const parsed = parseUrl(toWellFormedText(input), undefined);
  if (parsed === undefined) throw new TypeError("Cannot make a request: the URL is not absolute");
  if (hasCredentials(parsed))
    throw new TypeError("Cannot make a request: the URL has a user name or a password");
  return renderUrl(parsed);
}

function readKept(init: RequestMembers, before: KeptMembers | undefined): KeptMembers {
  const kept = record<string>() as KeptMembers;
  for (let i = 0; i < KEPT_NAMES.length; i += 1) {
    const key = at(KEPT_NAMES, i);
    const given = init[key];
    kept[key] = given === undefined ? (before ?? KEPT)[key] : toWellFormedText(given);
    const allowed = ALLOWED[key];
    if (allowed === undefined || given === undefined) continue;
    if (stringIndexOf(allowed, ` ${kept[key]} `) < 0) {
      throw new TypeError(`Cannot make a request: ${key} has an unknown value`);
    }
  }
  return kept;
}

function build(input: unknown, options: unknown): RequestState {
  const init = toInit(options);
  const before = requestStateOf(input);
  const url = before === undefined ? toUrl(input) : before.url;
  const kept = readKept(init, before?.kept);
  const method = init["method"] === undefined ? (before?.method ?? "GET") : toMethod(init["method"]);
  const keepalive = init["keepalive"] === undefined ? (before?.keepalive ?? false) : !!init["keepalive"];
  const signals = list<AbortSignal>();
  const { signal } = init;
  if (signal === undefined) {
    if (before !== undefined) append(signals, before.signal);
  } else if (isSignal(signal)) append(signals, signal);
  else if (signal !== null) throw new TypeError("Cannot make a request: the signal is not an AbortSignal");
  const given = init["headers"];
  const headers =
    given === undefined && before !== undefined ? copyHeaders(before.headers) : new Headers(given);
  const body = readBody(init, before, method, headers);
  return { url, method, signal: combineSignals(signals), keepalive, kept, headers, body };
}

function readBody(
  init: RequestMembers,
  before: RequestState | undefined,
  method: string,
  headers: Headers,
): BodyState {
  const given = init["body"];
  const isInherited = given === undefined || given === null;
  const hasBody = !isInherited || (before !== undefined && before.body.content.kind !== "none");
  if (hasBody && (method === "GET" || method === "HEAD")) {
    throw new TypeError(
      `Cannot make a request: one with method ${method} has no body, use POST or leave the body out`,
    );
  }
  if (isInherited) {
    if (before === undefined) return createBody(NO_CONTENT);
    if (isUnusable(before.body)) throw usedError("send");
    if (before.body.content.kind === "none") return createBody(NO_CONTENT);
    // The body moves: the request that it came from is used up.
    const moved = cloneBody(before.body);
    if (before.body.stream === undefined) before.body.isUsed = true;
    else before.body.stream.isDisturbed = true;
    return moved;
  }
  const { body, type } = extractBody(given);
  if (type !== undefined) addMissingHeader(headers, "content-type", type);
  if (body.content.kind === "stream" && init["duplex"] !== "half") {
    throw new TypeError('Cannot make a request: a stream as its body needs duplex: "half" beside it');
  }
  return body;
}

export class Request {
  readonly #state: RequestState;

  static {
    requestStateOf = (value) =>
      typeof value === "object" && value !== null && #state in value ? value.#state : undefined;
  }

  constructor(input: unknown, init: unknown = undefined) {
    if (next !== undefined) {
      this.#state = next;
      next = undefined;
      return;
    }
    requireArguments("make a request", arguments.length, 1);
    this.#state = build(input, init);
  }

  get method(): string {
    return this.#state.method;
  }

  get url(): string {
    return this.#state.url;
  }

  get headers(): Headers {
    return this.#state.headers;
  }

  get signal(): AbortSignal {
    return this.#state.signal;
  }

  get keepalive(): boolean {
    return this.#state.keepalive;
  }

  get destination(): string {
    return requestStateOf(this) === undefined ? illegal() : "";
  }

  get duplex(): string {
    return requestStateOf(this) === undefined ? illegal() : "half";
  }

  get cache(): string {
    return this.#state.kept.cache;
  }

  get credentials(): string {
    return this.#state.kept.credentials;
  }

  get integrity(): string {
    return this.#state.kept.integrity;
  }

  get mode(): string {
    return this.#state.kept.mode;
  }

  get redirect(): string {
    return this.#state.kept.redirect;
  }

  get referrer(): string {
    return this.#state.kept.referrer;
  }

  get referrerPolicy(): string {
    return this.#state.kept.referrerPolicy;
  }

  clone(): Request {
    const state = this.#state;
    const body = cloneBody(state.body);
    const signals = list<AbortSignal>();
    append(signals, state.signal);
    next = { ...state, headers: copyHeaders(state.headers), signal: combineSignals(signals), body };
    return new Request("");
  }
}

function illegal(): never {
  throw new TypeError("Illegal invocation");
}

addBodyMethods(Request.prototype, (self) => requestStateOf(self) ?? illegal());
dressClass("Request", Request);
