/**
 * Fetch: the global with which a program asks the host for a URL, in runs with a fetch policy. Runs inside the guest.
 *
 * - This file checks only the shape of a request; the host decides what may be fetched.
 * - A response is made by the part of the prelude that has the class: the same Response that a program can construct.
 * - A fetch is a call like any other. An abort rejects the program's promise and gives the call up: the call goes on
 *   without the program, and ends with it.
 */
import { type AbortSignal, isAborted, isSignal, onAbort, reasonOf } from "./abort.ts";
import { BEHIND } from "../../abi.ts";
import type { Ask } from "../calls/call-watch.ts";
import { bytesToBase64 } from "./encoding-text.ts";
import { exposeGlobal, requireArguments } from "../expose.ts";
import type { GuestCore } from "../guest-core.ts";
import { Headers, pairsOf } from "./headers.ts";
import {
  apply,
  at,
  hasOwn,
  primordial,
  promiseThen,
  record,
  typedArrayKind,
  withResolvers,
} from "../primordials.ts";
import { loadedPart, part } from "../parts.ts";
import { isParams, renderParams } from "../url/url-search-params.ts";
import { toBytes, toText, toWellFormedText } from "./webidl.ts";
import { brandOf } from "../brands.ts";

const { Error, TypeError } = primordial;

interface Init {
  readonly method?: unknown;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly redirect?: unknown;
  readonly signal?: unknown;
}

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

interface BodyFields {
  readonly body?: string;
  readonly bodyBase64?: string;
}

/** A body that crosses to the host as text or base64, at once or when its stream was read. */
export interface OutgoingBody extends BodyFields {
  /** The content type that the body itself implies. */
  readonly type: string | undefined;
  /** Gives `BodyFields`. */
  readonly reading: Promise<unknown> | undefined;
}

/** What a Request says. */
export interface OutgoingRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly signal: AbortSignal;
  readonly redirect: string;
  readonly body: OutgoingBody;
}

const FORM = "application/x-www-form-urlencoded;charset=UTF-8";

/** With a stand-in the program has to look at the promise that it gets; otherwise the call counts as detached. */
export function installFetch(core: GuestCore): void {
  const { giveUp } = core;
  const call: Ask = (request, error) => core.askAbortable(BEHIND["globalThis.fetch"], request, error);
  const standIn = core.standIn();
  if (standIn === undefined) {
    exposeGlobal("fetch", createFetch(call, giveUp));
    return;
  }
  const watched = {
    fetch(...args: unknown[]): Promise<unknown> {
      return standIn(call, (watchedCall) => apply(createFetch(watchedCall, giveUp), undefined, args));
    },
  };
  exposeGlobal("fetch", watched.fetch);
}

function createFetch(
  ask: Ask,
  giveUp: GuestCore["giveUp"],
): (input: unknown, init?: unknown) => Promise<unknown> {
  // A method, so that it has a name and is not a constructor, like a built-in.
  const { fetch } = {
    async fetch(input: unknown, init: unknown = undefined): Promise<unknown> {
      const error = new Error();
      requireArguments("fetch", arguments.length, 1);
      const outgoing = toOutgoing(input, init);
      const { request, reading, signal } = outgoing;
      const answer = withResolvers();
      // Cleared when there is an answer: a signal that outlives many fetches must not keep their bodies.
      let abandon: ((reason: unknown) => void) | undefined = answer.reject;
      if (signal !== undefined) {
        // oxlint-disable-next-line typescript/only-throw-error -- the reason is the guest's
        if (!onAbort(signal, () => abandon?.(reasonOf(signal)))) throw reasonOf(signal);
      }
      const send = (): void => {
        const made = ask(request, error);
        abandon = (reason) => {
          giveUp(made);
          answer.reject(reason);
        };
        promiseThen(
          made,
          (response) => {
            abandon = undefined;
            try {
              answer.resolve(part("body").toResponse(response as ResponseRecord));
            } catch (problem) {
              answer.reject(problem);
            }
          },
          (reason) => {
            abandon = undefined;
            answer.reject(reason);
          },
        );
      };
      if (reading === undefined) send();
      else {
        promiseThen(
          reading,
          (fields) => {
            addFields(request, fields as BodyFields);
            if (signal === undefined || !isAborted(signal)) send();
          },
          answer.reject,
        );
      }
      return answer.promise;
    },
  };
  return fetch;
}

function toInit(init: unknown): Init {
  if (init === undefined || init === null) return record<unknown>();
  if (typeof init === "object" || typeof init === "function") return init;
  throw new TypeError(
    `Cannot fetch: the second argument is a ${typeof init}, expected { method, headers, body }`,
  );
}

interface Outgoing {
  /** The request as it crosses to the host. */
  readonly request: { [key: string]: unknown };
  /** Gives the fields of the body, if the body is a stream. */
  readonly reading: Promise<unknown> | undefined;
  readonly signal: AbortSignal | undefined;
}

function toOutgoing(input: unknown, given: unknown): Outgoing {
  const init = toInit(given);
  const request = record<unknown>();
  const known = bodyPart();
  const made = known?.outgoingRequest(input, init);
  if (made !== undefined) {
    const { url, method, headers, redirect, body, signal } = made;
    request["url"] = url;
    request["method"] = method;
    addFields(request, body);
    request["headers"] = toSent(headers, body.type);
    request["redirect"] = redirect;
    return { request, reading: body.reading, signal };
  }
  const { signal } = init;
  if (signal !== undefined && signal !== null && !isSignal(signal)) {
    throw new TypeError("Cannot fetch: the signal is not an AbortSignal");
  }
  request["url"] = toWellFormedText(input);
  const { method, headers: givenHeaders, body, redirect } = init;
  request["method"] = method === undefined ? "GET" : toText(method);
  const headers = new Headers(givenHeaders === null ? undefined : givenHeaders);
  const outgoing = known?.outgoingBody(body);
  if (outgoing !== undefined) addFields(request, outgoing);
  const content = outgoing === undefined ? addBody(request, body) : outgoing.type;
  request["headers"] = toSent(headers, content);
  if (redirect !== undefined) request["redirect"] = toText(redirect);
  return { request, reading: outgoing?.reading, signal: isSignal(signal) ? signal : undefined };
}

/** The part that knows requests, blobs, forms and streams. Undefined while the program can have none of them. */
function bodyPart(): ReturnType<typeof part<"body">> | undefined {
  return loadedPart("streams") === undefined ? loadedPart("body") : part("body");
}

function toSent(headers: Headers, contentType: string | undefined): { [name: string]: string } {
  const sent = record<string>();
  const pairs = pairsOf(headers);
  for (let i = 0; i < pairs.length; i += 1) sent[at(pairs, i).name] = at(pairs, i).value;
  if (contentType !== undefined) sent["content-type"] ??= contentType;
  return sent;
}

/** Own fields only: a prototype must not supply one that is absent. */
function addFields(request: { [key: string]: unknown }, fields: BodyFields): void {
  if (hasOwn(fields, "body")) request["body"] = fields.body;
  if (hasOwn(fields, "bodyBase64")) request["bodyBase64"] = fields.bodyBase64;
}

/** Adds the body to the request. Returns the content type that the body itself implies, if any. */
function addBody(request: { [key: string]: unknown }, body: unknown): string | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body !== "object" && typeof body !== "function") {
    request["body"] = toWellFormedText(body);
    return undefined;
  }
  if (isParams(body)) {
    request["body"] = renderParams(body);
    return FORM;
  }
  const brand = brandOf(body);
  if (typedArrayKind(body) !== undefined || brand === "ArrayBuffer" || brand === "DataView") {
    request["bodyBase64"] = bytesToBase64(toBytes(body).array);
    return undefined;
  }
  if (brand === "String") {
    request["body"] = toWellFormedText(body);
    return undefined;
  }
  throw new TypeError(
    "Cannot fetch: the body is an object, expected a string, bytes or URLSearchParams, for JSON use JSON.stringify(body)",
  );
}
