/**
 * Runs on the host. Authorization: one way to tokens: refreshed, given to the client itself, or given after a person logged in.
 *
 * - What the MCP server says decides where a person logs in, within bounds: encrypted places alone, and with a secret of the
 *   configuration only the issuer that the configuration names. What was kept of one issuer goes to no other.
 * - Every answer is bounded in size and time. Nothing is written to the console, as the client's own `auth` would.
 */
import { randomBytes } from "node:crypto";
import {
  type AuthorizationServerMetadata,
  checkResourceAllowed,
  ClientCredentialsProvider,
  discoverOAuthServerInfo,
  exchangeAuthorization,
  type FetchLike,
  fetchToken,
  OAuthError,
  OAuthErrorCode,
  refreshAuthorization,
  registerClient,
  resourceUrlFromServerUrl,
  startAuthorization,
  validateAuthorizationResponseIssuer,
} from "@modelcontextprotocol/client";
import { bounded } from "../../backend/bounded.ts";
import type { Pauses } from "../../backend/pauses.ts";
import { ConnectorError } from "../../contract/connector-error.ts";
import { boundedFetch } from "../bounded-fetch.ts";
import { type Client, clientOf, isSameIssuer, type Login, type Tokens, tokensOf } from "./login.ts";
import { isLoopback, type OAuthSettings } from "./options.ts";
import { codeOf, isOfClient, type Refusals } from "./refusals.ts";

/** What the MCP server wants, in the words of its refusal. */
export interface Wanted {
  readonly resourceMetadataUrl: URL | undefined;
  readonly scope: string | undefined;
  /** Tokens that were refreshed have no more rights than before: a person has to give more. */
  readonly isMore: boolean;
}

/** What an authorization has from whoever wants it. */
export interface Attempt {
  /** Nobody waits for it any more: no person has to answer. Tokens that are on their way are taken all the same. */
  readonly waited: AbortSignal;
  /** The connector has ended, and with it all that is under way. */
  readonly end: AbortSignal;
  /** The refresh token is over. Gives what another process got in the meantime. */
  readonly spent: () => Promise<Login | undefined>;
  /** Throws where no person may be asked now. */
  readonly mayAsk: () => void;
  /** A person is asked from now on. */
  readonly asked: () => void;
  /** The authorization server may not know the client any more. */
  readonly clientLost: () => void;
}

export interface AuthorizationOptions {
  readonly id: string;
  readonly server: URL;
  readonly settings: OAuthSettings;
  readonly refusals: Refusals;
  readonly pauses: Pauses;
  /** For each answer of the authorization server. */
  readonly timeoutMs: number;
}

/** Where to log in, and for what. */
interface Found {
  readonly issuer: string;
  readonly url: string;
  readonly metadata: AuthorizationServerMetadata | undefined;
  readonly resource: string | undefined;
  readonly scope: string | undefined;
  readonly fetchFn: FetchLike;
}

/** No description or answer of an authorization server is larger. */
const ANSWER_BYTES = 256 * 1024;

export class Authorization {
  readonly #options: AuthorizationOptions;

  constructor(options: AuthorizationOptions) {
    this.#options = options;
  }

  /** `known` is what an earlier authorization gave. */
  async get(known: Login | undefined, wanted: Wanted, attempt: Attempt): Promise<Login> {
    const { settings, refusals } = this.#options;
    const found = await this.#find(wanted, attempt.end);
    const own = known !== undefined && isSameIssuer(known.issuer, found.issuer) ? known : undefined;
    if (settings.grant === "client_credentials") {
      const tokens = await this.#ofClient(found);
      return { issuer: found.issuer, tokens };
    }
    let client = settings.client ?? own?.client;
    const refresh = own?.tokens?.refresh_token;
    if (client !== undefined && refresh !== undefined && !wanted.isMore) {
      const tokens = await this.#refreshed(found, client, refresh);
      if (tokens === "unknown client") client = settings.client;
      else if (tokens === "refused") {
        const other = await attempt.spent();
        if (other !== undefined) return other;
      } else return { ...own, issuer: found.issuer, tokens: { ...scopeIn(own?.tokens), ...tokens } };
    }
    if (settings.login === undefined) throw refusals.nobody();
    attempt.mayAsk();
    attempt.waited.throwIfAborted();
    const { redirectUrl } = settings.login;
    // A client is sent back only to where it registered itself for.
    if (settings.client === undefined && (own?.redirectUrl ?? redirectUrl) !== redirectUrl) client = undefined;
    return this.#loggedIn(found, client, attempt);
  }

  async #find({ resourceMetadataUrl, scope }: Wanted, signal: AbortSignal): Promise<Found> {
    const { server, settings, refusals } = this.#options;
    const fetchFn = this.#fetch(signal);
    if (resourceMetadataUrl !== undefined && resourceMetadataUrl.origin !== server.origin)
      throw refusals.place("it describes its logins at another origin than its own");
    const what = "asked where to log in";
    const info = await discoverOAuthServerInfo(server, {
      ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
      fetchFn,
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw refusals.from(error, what);
    });
    const { resourceMetadata, authorizationServerMetadata: metadata, authorizationServerUrl: url } = info;
    const resource = resourceMetadata?.resource;
    const requestedResource = resourceUrlFromServerUrl(server);
    if (resource !== undefined && !checkResourceAllowed({ requestedResource, configuredResource: resource }))
      throw refusals.place("it gives the tokens of another server in place of its own");
    const issuer = metadata?.issuer ?? url;
    this.#checkIssuer(issuer, url);
    for (const name of ["authorization_endpoint", "token_endpoint", "registration_endpoint"] as const)
      if (metadata?.[name] !== undefined) this.#checkPlace(metadata[name]);
    const asked =
      (allScopes(settings.scope, scope) ?? resourceMetadata?.scopes_supported?.join(" ")) || undefined;
    return { issuer, url, metadata, resource, scope: withOffline(asked, metadata, settings), fetchFn };
  }

  #checkIssuer(issuer: string, url: string): void {
    const { server, settings, refusals } = this.#options;
    const { issuer: configured, client } = settings;
    if (configured !== undefined && !isSameIssuer(configured, issuer))
      throw refusals.place("it names another authorization server than oauth.issuer");
    const isOwn = URL.parse(url)?.origin === server.origin;
    if (configured === undefined && client?.client_secret !== undefined && !isOwn)
      throw refusals.place(
        "it names an authorization server of another origin, which gets oauth.clientSecret only if it is configured as oauth.issuer",
      );
  }

  /** Without a person: the client has rights of its own. */
  async #ofClient({ issuer, url, metadata, resource, scope, fetchFn }: Found): Promise<Tokens> {
    const { settings, refusals } = this.#options;
    const { client_id: clientId, client_secret: clientSecret } = settings.client ?? { client_id: "" };
    const provider = new ClientCredentialsProvider({
      clientId,
      clientSecret: clientSecret ?? "",
      expectedIssuer: issuer,
      ...(scope !== undefined && { scope }),
    });
    const what = "asked for a token";
    const asked = { ...about(metadata, resource), ...(scope !== undefined && { scope }), fetchFn };
    return this.#tokens(() => fetchToken(provider, url, asked), what).catch((error: unknown) => {
      throw refusals.from(error, what);
    });
  }

  async #refreshed(
    { url, metadata, resource, fetchFn }: Found,
    client: Client,
    refreshToken: string,
  ): Promise<Tokens | "refused" | "unknown client"> {
    const { refusals } = this.#options;
    const what = "asked for a new token";
    const asked = { ...about(metadata, resource), clientInformation: client, refreshToken, fetchFn };
    try {
      return await this.#tokens(() => refreshAuthorization(url, asked), what);
    } catch (error) {
      if (error instanceof OAuthError && error.code === INVALID_GRANT) return "refused";
      if (error instanceof OAuthError && isOfClient(error.code)) return "unknown client";
      throw refusals.from(error, what);
    }
  }

  async #loggedIn(found: Found, known: Client | undefined, attempt: Attempt): Promise<Login> {
    const { settings, refusals } = this.#options;
    const { issuer, url, metadata, resource, scope, fetchFn } = found;
    if (settings.login === undefined) throw refusals.nobody();
    const { redirectUrl } = settings.login;
    const client = known ?? (await this.#registered(found, redirectUrl));
    const state = randomBytes(32).toString("base64url");
    const { authorizationUrl, codeVerifier } = await startAuthorization(url, {
      ...about(metadata, resource),
      clientInformation: client,
      redirectUrl,
      state,
      ...(scope !== undefined && { scope }),
    }).catch((error: unknown) => {
      throw refusals.from(error, "asked how to log in");
    });
    this.#checkPlace(authorizationUrl.href);
    const answer = await this.#person(authorizationUrl, attempt);
    const { code, iss } = this.#codeIn(answer, { state, redirectUrl, metadata });
    const what = "asked for the tokens of the login";
    const tokens = await this.#tokens(
      () =>
        exchangeAuthorization(url, {
          ...about(metadata, resource),
          clientInformation: client,
          authorizationCode: code,
          ...(iss !== undefined && { iss }),
          codeVerifier,
          redirectUri: redirectUrl,
          fetchFn,
        }),
      what,
    ).catch((error: unknown) => {
      if (error instanceof OAuthError && isOfClient(error.code)) attempt.clientLost();
      throw refusals.from(error, what);
    });
    const granted = tokens.scope ?? scope;
    return {
      issuer,
      ...(settings.client === undefined && { client, redirectUrl }),
      tokens: { ...tokens, ...(granted !== undefined && { scope: granted }) },
    };
  }

  async #registered({ url, metadata, scope, fetchFn }: Found, redirectUrl: string): Promise<Client> {
    const { settings, refusals } = this.#options;
    const { clientMetadataUrl, clientName } = settings;
    if (clientMetadataUrl !== undefined && metadata?.client_id_metadata_document_supported === true)
      return { client_id: clientMetadataUrl };
    if (metadata !== undefined && metadata.registration_endpoint === undefined)
      throw refusals.of(
        "AUTH_REQUIRED",
        `Cannot log in to "${this.#options.id}": its authorization server registers no clients by itself. Register one by hand, and configure oauth.clientId`,
      );
    const redirect = URL.parse(redirectUrl);
    const isNative = redirect === null || !/^https?:$/u.test(redirect.protocol) || isLoopback(redirect);
    const methods = metadata?.token_endpoint_auth_methods_supported ?? [];
    const answer = await registerClient(url, {
      ...about(metadata),
      clientMetadata: {
        client_name: clientName,
        redirect_uris: [redirectUrl],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        application_type: isNative ? "native" : "web",
        // Without a secret there is none to lose.
        ...(methods.includes("none") && { token_endpoint_auth_method: "none" }),
      },
      ...(scope !== undefined && { scope }),
      fetchFn,
    }).catch((error: unknown) => {
      throw refusals.from(error, "asked to register this client");
    });
    const client = clientOf(answer);
    if (client === undefined) throw refusals.from(undefined, "asked to register this client");
    return client;
  }

  /** The URL to which the browser was sent back, or the code. */
  async #person(url: URL, { waited, end, asked, clientLost }: Attempt): Promise<string> {
    const { id, settings, refusals, pauses } = this.#options;
    const { login, authorizeTimeoutMs } = settings;
    if (login === undefined) throw refusals.nobody();
    const signal = AbortSignal.any([waited, end]);
    signal.throwIfAborted();
    asked();
    const bound = { connector: id, what: `the login to "${id}"`, timeoutMs: authorizeTimeoutMs, signal };
    try {
      return await pauses.during(() =>
        bounded({ ...bound, lateCode: "AUTH_REQUIRED" }, async (told) => {
          try {
            return String(await login.onAuthorize({ connector: id, url, signal: told }));
          } catch (error) {
            throw new HostError("The host's login failed", { cause: error });
          }
        }),
      );
    } catch (error) {
      signal.throwIfAborted();
      // It may have shown the person that it knows no such client, and sent the browser nowhere.
      clientLost();
      if (error instanceof HostError)
        throw refusals.of(
          "AUTH_REQUIRED",
          `Nobody logged in to "${id}": the host's login failed`,
          error.cause,
        );
      throw refusals.of("AUTH_REQUIRED", `Nobody logged in to "${id}" within ${authorizeTimeoutMs} ms`);
    }
  }

  #codeIn(
    answer: string,
    asked: {
      readonly state: string;
      readonly redirectUrl: string;
      readonly metadata: AuthorizationServerMetadata | undefined;
    },
  ): { readonly code: string; readonly iss: string | undefined } {
    const { refusals, id } = this.#options;
    const { state, redirectUrl, metadata } = asked;
    const failed = (why: string): ConnectorError =>
      refusals.of("AUTH_FAILED", `Cannot log in to "${id}": ${why}`);
    const redirected = redirectedUrl(answer, redirectUrl);
    const isIssTold =
      (metadata as { readonly authorization_response_iss_parameter_supported?: unknown } | undefined)
        ?.authorization_response_iss_parameter_supported === true;
    if (redirected === undefined) {
      if (isIssTold)
        throw failed(
          "its authorization server says who it is, so give the whole URL of the browser in place of the code",
        );
      return { code: answer, iss: undefined };
    }
    const expected = new URL(redirectUrl);
    // The origin of a scheme such as myapp: says nothing.
    if ((["protocol", "host", "pathname"] as const).some((part) => redirected[part] !== expected[part]))
      throw failed("the browser was sent to another place than oauth.redirectUrl");
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

  async #tokens(ask: () => Promise<unknown>, what: string): Promise<Tokens> {
    const tokens = tokensOf(await ask());
    if (tokens === undefined) throw this.#options.refusals.from(undefined, what);
    return tokens;
  }

  /** Only requests to places that may be asked, and only answers that are small and come in time. */
  #fetch(signal: AbortSignal): FetchLike {
    const fetchBounded = boundedFetch(ANSWER_BYTES);
    return async (url, init) => {
      this.#checkPlace(String(url));
      const late = AbortSignal.timeout(this.#options.timeoutMs);
      return fetchBounded(url, { ...init, signal: AbortSignal.any([signal, late]) });
    };
  }

  /** A server of this machine may log in on this machine. Others lead only to what is encrypted, and elsewhere. */
  #checkPlace(place: string): void {
    const { server, refusals } = this.#options;
    const url = URL.parse(place);
    if (url !== null && isLoopback(url)) {
      if (isLoopback(server) && /^https?:$/u.test(url.protocol)) return;
    } else if (url?.protocol === "https:") return;
    throw refusals.place("it leads to a place that is not encrypted, or that only this machine has");
  }
}

/** What the host threw, whatever it was. */
class HostError extends Error {}

/** The refresh token is over. */
const INVALID_GRANT: string = OAuthErrorCode.InvalidGrant;

function about(
  metadata: AuthorizationServerMetadata | undefined,
  resource?: string,
): { readonly metadata?: AuthorizationServerMetadata; readonly resource?: string } {
  return { ...(metadata !== undefined && { metadata }), ...(resource !== undefined && { resource }) };
}

/** What the operator said counts, and what the server wants beyond it. */
function allScopes(configured: string | undefined, asked: string | undefined): string | undefined {
  if (configured === undefined || asked === undefined) return configured ?? asked;
  return [...new Set(`${configured} ${asked}`.split(/ +/u))].join(" ");
}

/** Some servers give refresh tokens only to those who ask for this scope. */
function withOffline(
  scope: string | undefined,
  metadata: AuthorizationServerMetadata | undefined,
  { grant }: OAuthSettings,
): string | undefined {
  const isOffered = metadata?.scopes_supported?.includes("offline_access") === true;
  if (scope === undefined || !isOffered || grant !== "authorization_code") return scope;
  return scope.split(" ").includes("offline_access") ? scope : `${scope} offline_access`;
}

function scopeIn(tokens: Tokens | undefined): { readonly scope?: string } {
  return tokens?.scope === undefined ? {} : { scope: tokens.scope };
}

/** Undefined: the answer is a code. */
function redirectedUrl(answer: string, redirectUrl: string): URL | undefined {
  const isRelative = /^[/?].*[?&](?:code|error)=/u.test(answer);
  const url = isRelative ? URL.parse(answer, redirectUrl) : URL.parse(answer);
  if (url === null) return undefined;
  return ["code", "error", "state"].some((name) => url.searchParams.has(name)) ? url : undefined;
}
