/** What all connectors to HTTP backends are configured with, made complete and checked. Runs on the host. */
import type { Card } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import type { SecretOptions, PlainSecrets } from "../secrets/door.ts";
import { secretsOfHeaders, secretsOfQuery, secretsOfUrl } from "../secrets/secrets-of.ts";
import { type Credential, placeOf, secretsOf } from "./credentials.ts";
import { isFramingHeader, isHeaderName, isHeaderValue } from "./draft.ts";

/** What every connector to an HTTP backend is configured with. */
export interface WebOptions extends SecretOptions {
  /** The name by which programs know the backend. */
  readonly id: string;
  readonly card: Card;
  /** Sent with every request. A header that is named here cannot be set by an argument. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How long a call may take, with all that is repeated of it. 60 seconds if absent, 5 minutes at most. */
  readonly timeoutMs?: number;
  /** How many bytes of a response are taken, after decompression. 5,000,000 if absent. */
  readonly responseBytes?: number;
  /** A path that `check` gets, and that has to answer with success. Without it any answer of the backend will do. */
  readonly checkPath?: string;
}

export interface ResolvedWebOptions {
  readonly id: string;
  readonly card: Card;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly responseBytes: number;
  readonly checkPath: string | undefined;
}

const DEFAULT_TIMEOUT_MS = 60_000;
/** After that Node.js itself gives up waiting for the headers or for more of the body. */
const MOST_TIMEOUT_MS = 300_000;
const DEFAULT_RESPONSE_BYTES = 5_000_000;

export function resolveWebOptions(options: WebOptions): ResolvedWebOptions {
  const { id, card, headers = {}, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const { responseBytes = DEFAULT_RESPONSE_BYTES, checkPath } = options;
  if (!isCount(timeoutMs) || timeoutMs > MOST_TIMEOUT_MS) {
    throw misconfigured(
      id,
      `"timeoutMs" is ${timeoutMs}, it has to be a whole number from 1 to ${MOST_TIMEOUT_MS}`,
    );
  }
  if (!isCount(responseBytes)) {
    throw misconfigured(id, `"responseBytes" is ${responseBytes}, it has to be a whole number from 1 on`);
  }
  for (const [name, value] of Object.entries(headers)) {
    if (!isHeaderName(name) || isFramingHeader(name) || !isHeaderValue(value)) {
      throw misconfigured(id, `the header "${name}" cannot be sent`);
    }
  }
  return { id, card, headers: { ...headers }, timeoutMs, responseBytes, checkPath };
}

export function parseBaseUrl(id: string, text: string, name = "base URL"): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw misconfigured(id, `its ${name} is none of the form https://host/path`);
  }
  if (url.username !== "" || url.password !== "") {
    throw misconfigured(id, `its ${name} has a user or a password, they belong into the credentials`);
  }
  url.hash = "";
  return url;
}

export function checkCredentials(id: string, credentials: readonly Credential[]): void {
  for (const credential of credentials) {
    const { in: place, name } = placeOf(credential);
    if (place === "header" && (!isHeaderName(name) || isFramingHeader(name))) {
      throw misconfigured(id, `no credential can be sent in the header "${name}"`);
    }
    if (secretsOf(credential).some((secret) => secret === "" || !isHeaderValue(secret))) {
      throw misconfigured(
        id,
        `its credential in ${place} "${name}" is empty, or has a character no header can carry`,
      );
    }
  }
}

/** Where a configuration of HTTP backends may have references to secrets. */
export const WEB_PLACES = {
  texts: ["headers.*", "checkPath", "credentials.*", "credentials.*.*"],
  urls: ["baseUrl"],
} as const;

/** All texts of a configuration that no program may see. */
export function webSecrets(
  { id, headers, checkPath }: WebOptions,
  credentials: readonly Credential[],
  ...urls: readonly unknown[]
): PlainSecrets {
  for (const [at, credential] of credentials.entries()) refuseUnwritten(id, credential, `credentials[${at}]`);
  const ofUrls = urls.flatMap((url) => (typeof url === "string" ? secretsOfUrl(url, false) : []));
  const ofPath = typeof checkPath === "string" ? secretsOfQuery(checkPath) : [];
  const certain = [...secretsOfHeaders(headers), ...credentials.flatMap(secretsOf), ...ofUrls, ...ofPath];
  const users = credentials.flatMap((one) => (one.type === "basic" ? [one.username] : []));
  return { certain, likely: users };
}

/** A variable that is not set makes a credential that is none. */
function refuseUnwritten(id: string, credential: Credential, place: string): void {
  const fields = FIELDS[(credential as Partial<Credential> | undefined)?.type ?? ""];
  if (fields === undefined)
    throw misconfigured(id, `${place} is no credential, its type may be bearer, basic or apiKey`);
  const values = credential as unknown as Readonly<Record<string, unknown>>;
  const unwritten = fields.find((field) => typeof values[field] !== "string");
  if (unwritten !== undefined) throw misconfigured(id, `${place}.${unwritten} is no text, it has to be one`);
}

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  bearer: ["token"],
  basic: ["username", "password"],
  apiKey: ["in", "name", "value"],
};

export function misconfigured(id: string, problem: string): ConnectorError {
  return new ConnectorError(id, "CONFIG_INVALID", `Cannot use connector "${id}": ${problem}`, {
    hasNoEffect: true,
  });
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0;
}
