/**
 * Runs on the host. Authorization: one way to tokens: refreshed, given to the client itself, or given after a person logged in.
 *
 * - What was kept of one issuer goes to no other. A person is asked only where the server says that it proves logins (PKCE).
 * - Nothing is written to the console, as the client's own `auth` would.
 */
import { randomBytes } from "node:crypto";
import {
  type AuthorizationServerMetadata,
  ClientCredentialsProvider,
  exchangeAuthorization,
  fetchToken,
  OAuthError,
  OAuthErrorCode,
  refreshAuthorization,
  registerClient,
  startAuthorization,
} from "@modelcontextprotocol/client";
import { bounded } from "../../backend/bounded.ts";
import type { Pauses } from "../../backend/pauses.ts";
import type { ConnectorError } from "../../contract/connector-error.ts";
import { Discovery, type DiscoveryOptions, type Found, type Wanted } from "./discovery.ts";
import { type Client, clientOf, isSameIssuer, type Login, type Tokens, tokensOf } from "./login.ts";
import { isLoopback } from "./options.ts";
import { codeIn } from "./redirected.ts";
import { isOfClient } from "./refusals.ts";

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

export interface AuthorizationOptions extends DiscoveryOptions {
  readonly pauses: Pauses;
}

export class Authorization {
  readonly #options: AuthorizationOptions;
  readonly #discovery: Discovery;

  constructor(options: AuthorizationOptions) {
    this.#options = options;
    this.#discovery = new Discovery(options);
  }

  /** `known` is what an earlier authorization gave. */
  async get(known: Login | undefined, wanted: Wanted, attempt: Attempt): Promise<Login> {
    const { settings, refusals } = this.#options;
    const found = await this.#discovery.find(wanted, known?.issuer, attempt.end);
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
    if (settings.client === undefined && (own?.redirectUrl ?? redirectUrl) !== redirectUrl)
      client = undefined;
    return this.#loggedIn(found, client, attempt);
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
    if (metadata !== undefined && metadata.code_challenge_methods_supported?.includes("S256") !== true)
      throw refusals.of(
        "AUTH_FAILED",
        `Cannot log in to "${this.#options.id}": its authorization server does not say that it proves logins with PKCE (S256), as the standard demands`,
      );
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
    this.#discovery.checkPlace(authorizationUrl.href);
    const answer = await this.#person(authorizationUrl, attempt);
    const failed = (why: string): ConnectorError =>
      refusals.of("AUTH_FAILED", `Cannot log in to "${this.#options.id}": ${why}`);
    const { code, iss } = codeIn(answer, { state, redirectUrl, metadata, failed });
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

  /** What the host gives: the URL to which the browser was sent back, or the code. */
  async #person(url: URL, { waited, end, asked, clientLost }: Attempt): Promise<unknown> {
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
            return await login.onAuthorize({ connector: id, url, signal: told });
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

  async #tokens(ask: () => Promise<unknown>, what: string): Promise<Tokens> {
    const tokens = tokensOf(await ask());
    if (tokens === undefined) throw this.#options.refusals.from(undefined, what);
    return tokens;
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

function scopeIn(tokens: Tokens | undefined): { readonly scope?: string } {
  return tokens?.scope === undefined ? {} : { scope: tokens.scope };
}
