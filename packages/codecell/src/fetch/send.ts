/**
 * Runs on the host. Makes the requests of one fetch, one per redirect, each under the whole policy.
 *
 * - The host's fetch is told never to follow a redirect. If it does so all the same, the URL that the response says
 *   it is from has to be allowed.
 * - A program learns only the code of an error: messages and causes name addresses and files of the host.
 */
import { checkUrl, PRIVATE } from "./check-url.ts";
import { AddressRefused } from "./guarded-fetch.ts";
import type { ResolvedFetchPolicy } from "./policy.ts";
import { cancelBody, orAborted } from "./read-body.ts";
import { refusal } from "./refuse.ts";
import { type FetchRequest, redirected, type RedirectMode } from "./request.ts";
import { CallRefusal } from "../calls/call-failure.ts";

export interface FetchAnswer {
  readonly response: Response;
  readonly url: URL;
  readonly method: string;
  readonly redirected: boolean;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export async function send(
  first: FetchRequest,
  mode: RedirectMode,
  policy: ResolvedFetchPolicy,
  signal: AbortSignal,
): Promise<FetchAnswer> {
  let request = first;
  for (let hops = 0; ; hops++) {
    const response = await sendOnce(request, policy, signal);
    const { href } = request.url;
    try {
      const url = responseUrl(response, request, policy);
      const { method } = request;
      const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
      if (location === null) return { response, url, method, redirected: hops > 0 || url.href !== href };
      if (mode === "error") throw refusal(href, "it redirects, and the program asked for none");
      // The redirect is not followed: the program sees where it leads.
      if (mode === "manual" || !policy.allowRedirects) return { response, url, method, redirected: hops > 0 };
      if (hops >= policy.maxRedirects) {
        throw refusal(first.url.href, `it redirects more than ${policy.maxRedirects} times`);
      }
      request = redirected(request, { status: response.status, location, from: url }, policy);
    } catch (error) {
      cancelBody(response);
      throw error;
    }
    cancelBody(response);
  }
}

async function sendOnce(
  { url, method, headers, body }: FetchRequest,
  { fetch }: ResolvedFetchPolicy,
  signal: AbortSignal,
): Promise<Response> {
  try {
    const init = { method, headers: Object.fromEntries(headers), redirect: "manual", signal } as const;
    const sent = fetch(url.href, body === undefined ? init : { ...init, body });
    const response: unknown = await orAborted(Promise.resolve(sent), signal);
    if (isResponse(response)) return response;
  } catch (error) {
    throw failed(url.href, error, signal);
  }
  throw refusal(url.href, "the host's fetch gave no response");
}

/**
 * The URL that a response is from. The policy has to allow this URL too, since the host's fetch may have gone
 * elsewhere.
 */
function responseUrl(response: Response, { url }: FetchRequest, policy: ResolvedFetchPolicy): URL {
  if (response.type === "opaqueredirect") throw refusal(url.href, "it redirects, and its target is hidden");
  const reached = response.url === "" || response.url === undefined ? url : checkUrl(response.url, policy);
  if (!policy.allowRedirects && (response.redirected || reached.href !== url.href)) {
    throw refusal(url.href, "it was redirected, and redirects are not allowed");
  }
  return reached;
}

function isResponse(value: unknown): value is Response {
  if (typeof value !== "object" || value === null) return false;
  const { status, headers } = value as Partial<Response>;
  return (
    Number.isInteger(status) && typeof headers?.get === "function" && typeof headers.forEach === "function"
  );
}

/** What the program sees of an error of a request or of a body. */
export function failed(url: string, error: unknown, signal: AbortSignal): CallRefusal {
  if (error instanceof CallRefusal) return error;
  if (signal.aborted) return refusal(url, "the run has ended");
  const causes = causesOf(error);
  if (causes.some((cause) => cause instanceof AddressRefused)) return refusal(url, PRIVATE);
  const code = causes.map(codeOf).find((one) => one !== undefined);
  return refusal(url, code === undefined ? "the request failed" : `the request failed with ${code}`, error);
}

const MOST_CAUSES = 5;

function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = [];
  for (let cause = error; cause instanceof Error && causes.length < MOST_CAUSES; cause = cause.cause) {
    causes.push(cause);
    // A connection that tried several addresses has an error for each.
    if (cause instanceof AggregateError) causes.push(...(cause.errors as unknown[]).slice(0, MOST_CAUSES));
  }
  return causes;
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[A-Z][A-Z0-9_]{1,63}$/u.test(code) ? code : undefined;
}
