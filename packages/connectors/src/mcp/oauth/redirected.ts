/**
 * Runs on the host. Redirected: the code in what the host gives after a login, if it belongs to that login.
 *
 * - Only what is certainly no URL is a code. A URL of anywhere else is never sent to an authorization server.
 */
import {
  type AuthorizationServerMetadata,
  validateAuthorizationResponseIssuer,
} from "@modelcontextprotocol/client";
import { codeOf } from "./refusals.ts";

export interface LoginAsked {
  readonly state: string;
  readonly redirectUrl: string;
  readonly metadata: AuthorizationServerMetadata | undefined;
  readonly failed: (why: string) => Error;
}

export interface LoginCode {
  readonly code: string;
  readonly iss: string | undefined;
}

export function codeIn(answer: unknown, { state, redirectUrl, metadata, failed }: LoginAsked): LoginCode {
  if (!(answer instanceof URL) && (typeof answer !== "string" || answer.trim() === ""))
    throw failed("oauth.onAuthorize gave neither the URL of the browser nor a code");
  const redirected = redirectedUrl(answer, redirectUrl);
  const isIssTold =
    (metadata as { readonly authorization_response_iss_parameter_supported?: unknown } | undefined)
      ?.authorization_response_iss_parameter_supported === true;
  if (redirected === "a code") {
    if (isIssTold)
      throw failed(
        "its authorization server says who it is, so give the whole URL of the browser in place of the code",
      );
    return { code: String(answer), iss: undefined };
  }
  const expected = new URL(redirectUrl);
  // The origin of a scheme such as myapp: says nothing.
  const isThere =
    redirected !== null &&
    (["protocol", "host", "pathname"] as const).every((part) => redirected[part] === expected[part]);
  if (!isThere) throw failed("the browser was sent to another place than oauth.redirectUrl");
  const { searchParams } = redirected;
  if (searchParams.get("state") !== state) throw failed("the answer is one to another login");
  const iss = searchParams.get("iss") ?? undefined;
  try {
    validateAuthorizationResponseIssuer({
      iss,
      expectedIssuer: metadata?.issuer,
      issParameterSupported: isIssTold,
    });
  } catch {
    throw failed("the answer is of another authorization server");
  }
  const error = searchParams.get("error");
  if (error !== null) throw failed(`it was refused (${codeOf(error)})`);
  const code = searchParams.get("code");
  if (code === null || code === "") throw failed("the answer has no code");
  return { code, iss };
}

/** Null: it is none that can be read. */
function redirectedUrl(answer: string | URL, redirectUrl: string): URL | null | "a code" {
  if (answer instanceof URL) return answer;
  if (/^[/?].*[?&](?:code|error)=/u.test(answer)) return URL.parse(answer, redirectUrl);
  const url = URL.parse(answer);
  if (/^\s*[a-z][a-z\d+.-]*:\/\//iu.test(answer)) return url;
  const isUrl = ["code", "error", "state"].some((name) => url?.searchParams.has(name) === true);
  return isUrl ? url : "a code";
}
