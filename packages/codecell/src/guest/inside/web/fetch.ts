/**
 * Fetch: the global with which a program asks the host for a URL, in runs with a fetch policy. Runs inside the guest.
 *
 * - This file checks only the shape of a request; the host decides what may be fetched.
 * - A fetch is a call like any other. An abort rejects the program's promise and gives the call up: the call goes on
 *   without the program, and ends with it.
 */
import { isSignal, onAbort, reasonOf } from "./abort.ts";
import { BEHIND } from "../../abi.ts";
import type { Ask } from "../calls/call-watch.ts";
import { bytesToBase64 } from "./encoding-text.ts";
import { exposeGlobal, requireArguments } from "../expose.ts";
import type { GuestCore } from "../guest-core.ts";
import { Headers, pairsOf } from "./headers.ts";
import { apply, at, primordial, promiseThen, record, typedArrayKind, withResolvers } from "../primordials.ts";
import { type ResponseRecord, toResponse } from "./response.ts";
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
      const given = toInit(init);
      const { signal } = given;
      if (signal !== undefined && signal !== null && !isSignal(signal)) {
        throw new TypeError("Cannot fetch: the signal is not an AbortSignal");
      }
      const request = toRequest(input, given);
      const answer = withResolvers();
      // Cleared when there is an answer: a signal that outlives many fetches must not keep their bodies.
      let abandon: ((reason: unknown) => void) | undefined = answer.reject;
      if (isSignal(signal)) {
        // oxlint-disable-next-line typescript/only-throw-error -- the reason is the guest's
        if (!onAbort(signal, () => abandon?.(reasonOf(signal)))) throw reasonOf(signal);
      }
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
            answer.resolve(toResponse(response as ResponseRecord));
          } catch (problem) {
            answer.reject(problem);
          }
        },
        (reason) => {
          abandon = undefined;
          answer.reject(reason);
        },
      );
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

/** The request as it crosses to the host. */
function toRequest(input: unknown, init: Init): object {
  const request = record<unknown>();
  request["url"] = toWellFormedText(input);
  const { method, headers: givenHeaders, body, redirect } = init;
  request["method"] = method === undefined ? "GET" : toText(method);
  const headers = new Headers(givenHeaders === null ? undefined : givenHeaders);
  const content = addBody(request, body);
  const sent = record<string>();
  const pairs = pairsOf(headers);
  for (let i = 0; i < pairs.length; i += 1) sent[at(pairs, i).name] = at(pairs, i).value;
  if (content !== undefined) sent["content-type"] ??= content;
  request["headers"] = sent;
  if (redirect !== undefined) request["redirect"] = toText(redirect);
  return request;
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
