/**
 * Outgoing: what a fetch takes from a Request, and from bodies that only this part knows. Runs inside the guest.
 */
import { loadedPart } from "../../parts.ts";
import { bytesToBase64 } from "../../web/encoding-text.ts";
import type { OutgoingBody, OutgoingRequest } from "../../web/fetch.ts";
import { blobDataOf } from "./blob.ts";
import { type BodyState, consumeBody, type Content, extractBody } from "./body.ts";
import { entriesOf } from "./form-data.ts";
import { Request, requestStateOf } from "./request.ts";

function toOutgoing(body: BodyState, type: string | undefined): OutgoingBody {
  const { content } = body;
  if (content.kind !== "stream" && body.stream === undefined)
    return { ...toFields(content), type, reading: undefined };
  return { type, reading: consumeBody(body, toFields) };
}

function toFields(content: Content): { readonly body?: string; readonly bodyBase64?: string } {
  if (content.kind === "text") return { body: content.text };
  return content.kind === "bytes" ? { bodyBase64: bytesToBase64(content.bytes) } : {};
}

/** Undefined for a body that fetch takes without this part. */
export function outgoingBody(given: unknown): OutgoingBody | undefined {
  const isKnown =
    blobDataOf(given) !== undefined ||
    entriesOf(given) !== undefined ||
    loadedPart("streams")?.stateOf(given) !== undefined;
  if (!isKnown) return undefined;
  const { body, type } = extractBody(given);
  return toOutgoing(body, type);
}

/** Undefined if the input is not a Request. The options change what the request says, as in `new Request`. */
export function outgoingRequest(input: unknown, init: unknown): OutgoingRequest | undefined {
  if (requestStateOf(input) === undefined) return undefined;
  const state = requestStateOf(new Request(input, init));
  if (state === undefined) return undefined;
  const { url, method, headers, signal, kept, body } = state;
  return { url, method, headers, signal, redirect: kept.redirect, body: toOutgoing(body, undefined) };
}
