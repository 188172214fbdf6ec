/**
 * WebClient: the one place that sends requests of connectors to HTTP backends. Runs on the host.
 *
 * - A request goes to the origin of the base URL and to no other: neither an argument nor a redirect leads elsewhere.
 * - It ends with its answer, its time or its caller, whichever is first; then its connection is released.
 * - It is repeated only where its sender says that it may be, a few times, and within the same time.
 * - Everything read is bounded.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Json } from "codecell";
import { bounded } from "../backend/bounded.ts";
import type { HiddenTexts } from "../backend/hidden-texts.ts";
import type { BackendOutput } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { applyCredential, type Credential, placeOf } from "./credentials.ts";
import { createDraft, type Draft, partsOfPath } from "./draft.ts";
import { type Asked, connectionFailure, statusFailure } from "./failures.ts";
import { BodyTooLarge, BodyUnreadable, readBytes, readData, readUpTo } from "./read-response.ts";

const MOST_ATTEMPTS = 3;
const FIRST_WAIT_MS = 100;
/** A backend that asks for a longer pause is asked again by the program, not by us. */
const LONGEST_PAUSE_MS = 10_000;
const MOST_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAY_COME_LATER: ReadonlySet<number> = new Set([429, 503]);
/** Headers of a response that are for the connection or for a browser. */
const HIDDEN_HEADERS: ReadonlySet<string> = new Set([
  "set-cookie",
  "connection",
  "keep-alive",
  "transfer-encoding",
]);

export interface WebClientOptions {
  /** The id of the connector. */
  readonly connector: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly responseBytes: number;
  /** Taken out of errors before they are cut; what the connector gives is searched for more at its door. */
  readonly hidden: HiddenTexts;
}

export interface WebCall {
  /** In the words of a message: `calling "create_issue"`. */
  readonly what: string;
  readonly base: URL;
  readonly draft: Draft;
  readonly credentials: readonly Credential[];
  /** Whether the backend may see the request twice. */
  readonly mayRepeat: boolean;
  /** Whether the answer is bytes, whatever it says of itself. */
  readonly givesBytes?: boolean;
}

export interface Check {
  readonly base: URL;
  readonly credentials: readonly Credential[];
  readonly path: string | undefined;
}

/** What a backend is asked, and until when. */
interface Open {
  readonly call: WebCall;
  readonly asked: Asked;
  readonly signal: AbortSignal;
  readonly until: number;
}

interface Sent {
  readonly url: URL;
  readonly init: RequestInit;
}

export class WebClient implements Disposable {
  readonly #options: WebClientOptions;
  readonly #ended = new AbortController();

  constructor(options: WebClientOptions) {
    this.#options = options;
  }

  /** Rejects unless the backend answers with success. */
  async call(call: WebCall, signal: AbortSignal): Promise<BackendOutput> {
    return this.#open(call, signal, async (open) => {
      const response = await this.#answered(open);
      if (!response.ok) throw await statusFailure(open.asked, response, this.#options.hidden);
      const data = call.draft.method === "HEAD" ? null : await this.#read(open, response);
      return { data, meta: metaOf(response) };
    });
  }

  /** The body as it came, for a thread that reads it: secrets that the backend repeats are still in it. */
  async bytes(call: WebCall, most: number, signal: AbortSignal): Promise<Uint8Array> {
    return this.#open(call, signal, async (open) => {
      const response = await this.#answered(open);
      if (!response.ok) throw await statusFailure(open.asked, response, this.#options.hidden);
      const { bytes, isWhole } = await readUpTo(response, most).catch((error: unknown) => {
        throw connectionFailure(open.asked, error);
      });
      if (!isWhole) throw this.#tooLarge(open, most);
      return bytes;
    });
  }

  /**
   * Finds out whether the backend is there and lets us in: a path has to answer with success. Without one any answer will
   * do that neither refuses the credentials nor comes from a proxy that misses its backend.
   */
  async check(check: Check, signal: AbortSignal): Promise<void> {
    const { base, credentials, path } = check;
    const { path: plain, search } = partsOfPath(path ?? "");
    const draft = createDraft("GET", plain);
    if (search !== undefined) draft.query.push(search);
    const call = { what: "the check", base, draft, credentials, mayRepeat: false };
    await this.#open(call, signal, async (open) => {
      const response = await this.#fetch(open, this.#sentBy(call));
      const { status, ok } = response;
      const isMissing = status >= 502 && status <= 504;
      if (isMissing || status === 401 || (path !== undefined && !ok)) {
        const error = await statusFailure(open.asked, response, this.#options.hidden);
        throw isMissing
          ? new ConnectorError(error.connector, "SERVER_UNAVAILABLE", error.message, { cause: error })
          : error;
      }
      void response.body?.cancel().catch(() => {});
    });
  }

  /** Throws if the connector was ended. */
  refuseEnded(what: string): void {
    if (!this.#ended.signal.aborted) return;
    const { connector } = this.#options;
    const message = `Cannot go on with ${what}: connector "${connector}" was ended`;
    throw new ConnectorError(connector, "SERVER_UNAVAILABLE", message, { hasNoEffect: true });
  }

  /** Aborted when the connector ends. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  [Symbol.dispose](): void {
    this.#ended.abort(new DOMException("The connector was ended", "AbortError"));
  }

  async #open<T>(call: WebCall, signal: AbortSignal, work: (open: Open) => Promise<T>): Promise<T> {
    const { connector, timeoutMs } = this.#options;
    this.refuseEnded(call.what);
    const asked = { connector, what: call.what, hasCredentials: this.#hasCredentials(call) };
    const until = performance.now() + timeoutMs;
    const either = AbortSignal.any([signal, this.#ended.signal]);
    return bounded({ connector, what: call.what, timeoutMs, signal: either }, (bound) =>
      work({ call, asked, signal: bound, until }),
    );
  }

  #hasCredentials({ credentials }: WebCall): boolean {
    return credentials.length > 0 || new Headers(this.#options.headers).has("authorization");
  }

  /** The response to a call, after what may be repeated was repeated. */
  async #answered(open: Open): Promise<Response> {
    const sent = this.#sentBy(open.call);
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt === MOST_ATTEMPTS || !open.call.mayRepeat;
      let response: Response;
      try {
        response = await this.#fetch(open, sent);
      } catch (error) {
        if (isLast || !isConnectionError(error)) throw error;
        await pause(open, FIRST_WAIT_MS * 2 ** attempt * (0.5 + Math.random() / 2));
        continue;
      }
      const pauseMs = isLast ? undefined : pauseWantedBy(response);
      if (pauseMs === undefined || performance.now() + pauseMs >= open.until) return response;
      void response.body?.cancel().catch(() => {});
      await pause(open, pauseMs);
    }
  }

  /** Follows redirects within the origin. */
  async #fetch(open: Open, first: Sent): Promise<Response> {
    let sent = first;
    for (let redirects = 0; ; redirects++) {
      const response = await fetch(sent.url, { ...sent.init, redirect: "manual", signal: open.signal }).catch(
        (error: unknown) => {
          throw connectionFailure(open.asked, error);
        },
      );
      const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
      if (location === null) return response;
      void response.body?.cancel().catch(() => {});
      sent = redirected(open, sent, response.status, location);
      if (redirects === MOST_REDIRECTS)
        throw protocolError(open, `it redirects more than ${MOST_REDIRECTS} times`);
    }
  }

  #sentBy({ base, draft, credentials }: WebCall): Sent {
    const { method, body } = draft;
    if (body !== undefined) draft.headers.set("content-type", body.mediaType);
    for (const [name, value] of Object.entries(this.#options.headers)) draft.headers.set(name, value);
    refuseTaken(this.#options, base, draft, credentials);
    const given = draft.cookies.splice(0);
    for (const credential of credentials) applyCredential(credential, draft);
    const own = draft.headers.get("cookie");
    // A quote that an argument leaves open swallows no credential.
    const cookies = [...draft.cookies, ...(own === null ? [] : [own]), ...given];
    if (cookies.length > 0) draft.headers.set("cookie", cookies.join("; "));
    const init = { method, headers: draft.headers, ...(body === undefined ? {} : { body: body.bytes }) };
    return { url: urlOf(this.#options.connector, base, draft), init };
  }

  async #read(open: Open, response: Response): Promise<unknown> {
    const { responseBytes } = this.#options;
    const { givesBytes = false } = open.call;
    try {
      return await (givesBytes ? readBytes : readData)(response, responseBytes);
    } catch (error) {
      if (error instanceof BodyTooLarge) throw this.#tooLarge(open, responseBytes, error);
      if (error instanceof BodyUnreadable) throw protocolError(open, error.message, error);
      throw connectionFailure(open.asked, error);
    }
  }

  #tooLarge({ asked }: Open, most: number, cause?: unknown): ConnectorError {
    const { connector, what } = asked;
    const message = `Stopped ${what}: the answer of "${connector}" has more than ${most} bytes, ask for less`;
    return new ConnectorError(connector, "RESPONSE_TOO_LARGE", message, { cause });
  }
}

function metaOf({ status, headers }: Response): Record<string, Json> {
  const shown: Record<string, string> = {};
  for (const [name, value] of headers) {
    if (!HIDDEN_HEADERS.has(name)) shown[name] = value;
  }
  return { status, headers: shown };
}

function isConnectionError(error: unknown): boolean {
  return error instanceof ConnectorError && error.code === "SERVER_UNAVAILABLE";
}

async function pause({ signal }: Open, ms: number): Promise<void> {
  await delay(ms, undefined, { signal });
}

/** For how long a backend that is busy wants to be left alone. Undefined if it does not say so, or too long. */
function pauseWantedBy({ status, headers }: Response): number | undefined {
  const wanted = MAY_COME_LATER.has(status) ? headers.get("retry-after") : null;
  if (wanted === null) return undefined;
  const ms = /^\d{1,9}$/u.test(wanted) ? Number(wanted) * 1000 : Date.parse(wanted) - Date.now();
  return Number.isNaN(ms) || ms > LONGEST_PAUSE_MS ? undefined : Math.max(0, ms);
}

function redirected(open: Open, { url, init }: Sent, status: number, location: string): Sent {
  const target = URL.parse(location, url.href);
  if (target?.origin !== url.origin || target.username !== "" || target.password !== "") {
    throw protocolError(
      open,
      "it redirects to another origin, and requests stay at the one that is configured",
    );
  }
  const { method } = init;
  const becomesGet = status === 303 ? method !== "HEAD" : status < 303 && method === "POST";
  if (!becomesGet) return { url: target, init };
  const headers = new Headers(init.headers);
  headers.delete("content-type");
  return { url: target, init: { method: "GET", headers } };
}

function protocolError({ asked }: Open, problem: string, cause?: unknown): ConnectorError {
  const message = `Stopped ${asked.what}: "${asked.connector}" answered what cannot be used, ${problem}`;
  return new ConnectorError(asked.connector, "DOWNSTREAM_PROTOCOL_ERROR", message, { cause });
}

/**
 * Refuses an argument that stands where a credential or the base URL does: some servers take the first of two, some the
 * last. An object that is written as parameters has names that nobody declared.
 */
function refuseTaken(
  { connector, headers }: WebClientOptions,
  base: URL,
  draft: Draft,
  credentials: readonly Credential[],
): void {
  const inQuery = new Set([...base.searchParams.keys()].map(nameOfParameter));
  const own = new Headers(headers).get("cookie") ?? "";
  const inCookie = new Set(own.split(";").map(nameOfCookie));
  for (const { in: place, name } of credentials.map(placeOf)) {
    if (place === "query") inQuery.add(nameOfParameter(name));
    if (place === "cookie") inCookie.add(name);
  }
  inCookie.delete("");
  const query = new URLSearchParams(draft.query.join("&"));
  // What the operator set is in the draft already if it is set as a whole.
  const set = draft.headers.get("cookie") ?? "";
  const cookies = [set === own ? "" : set, ...draft.cookies].flatMap((text) => text.split(";"));
  const taken =
    [...query.keys()].find((name) => inQuery.has(nameOfParameter(name))) ??
    cookies.map((pair) => nameOfCookie(pair)).find((name) => inCookie.has(name));
  if (taken === undefined) return;
  const message = `Cannot make the request: "${taken}" is set by the connector, and no input can set it`;
  throw new ConnectorError(connector, "REQUEST_INVALID", message, { hasNoEffect: true });
}

/** Some servers read names in any case, and `key[0]` as `key`. */
function nameOfParameter(name: string): string {
  const at = name.indexOf("[", 1);
  return (at === -1 ? name : name.slice(0, at)).trim().toLowerCase();
}

function nameOfCookie(pair: string): string {
  const [name = ""] = pair.split("=", 1);
  try {
    return decodeURIComponent(name.trim());
  } catch {
    return name.trim();
  }
}

/** The URL of a request. A URL that would be read as another one than was written is refused. */
function urlOf(connector: string, base: URL, { path, query }: Draft): URL {
  const pathname = base.pathname.replace(/\/$/u, "") + path;
  const search = [...(base.search === "" ? [] : [base.search.slice(1)]), ...query].join("&");
  const url = URL.parse(`${base.origin}${pathname}${search === "" ? "" : `?${search}`}`);
  if (url?.origin === base.origin && url.pathname === (pathname === "" ? "/" : pathname) && url.hash === "")
    return url;
  const message = "Cannot make the request: its path would lead to another one than it says";
  throw new ConnectorError(connector, "REQUEST_INVALID", message, { hasNoEffect: true });
}
