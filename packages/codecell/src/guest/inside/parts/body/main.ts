/**
 * Body: a part of the prelude, which a cell loads when its program first needs a blob, a form, a request or a response.
 * Runs inside the guest.
 */
import type { OutgoingBody, OutgoingRequest, ResponseRecord } from "../../web/fetch.ts";
import { Blob, cloneBlob, File } from "./blob.ts";
import { FormData } from "./form-data.ts";
import { outgoingBody, outgoingRequest } from "./outgoing.ts";
import { Request } from "./request.ts";
import { Response, toResponse } from "./response.ts";

export interface BodyPart {
  readonly globals: { readonly [name: string]: unknown };
  /** Undefined for what is not a Blob. */
  readonly cloneBlob: (source: object) => object | undefined;
  readonly toResponse: (record: ResponseRecord) => unknown;
  /** Undefined for a body that fetch takes without this part. */
  readonly outgoingBody: (given: unknown) => OutgoingBody | undefined;
  /** Undefined if the input is not a Request. */
  readonly outgoingRequest: (input: unknown, init: unknown) => OutgoingRequest | undefined;
}

// oxlint-disable-next-line no-unused-vars -- the wrapper returns it
declare let made: BodyPart;

made = {
  globals: { Blob, File, FormData, Request, Response },
  cloneBlob,
  toResponse,
  outgoingBody,
  outgoingRequest,
};
