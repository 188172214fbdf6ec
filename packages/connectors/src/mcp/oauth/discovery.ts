/**
 * Runs on the host. Discovery: where a person logs in to an MCP server, and for what, as the server says it.
 *
 * - What the server says counts within bounds: places that may be asked, and with a secret of the configuration only the issuer
 *   that the configuration names. What cannot be read is no reason to log in somewhere else.
 * - Every answer is bounded in size and time.
 */
import {
  type AuthorizationServerMetadata,
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  type FetchLike,
  type OAuthProtectedResourceMetadata,
  resourceUrlFromServerUrl,
} from "@modelcontextprotocol/client";
import { boundedFetch } from "../bounded-fetch.ts";
import { faultOf } from "../faults.ts";
import { isSameIssuer } from "./login.ts";
import type { OAuthSettings } from "./options.ts";
import { isAllowed } from "./places.ts";
import type { Refusals } from "./refusals.ts";

/** What the MCP server wants, in the words of its refusal. */
export interface Wanted {
  readonly resourceMetadataUrl: URL | undefined;
  readonly scope: string | undefined;
  /** Tokens that were refreshed have no more rights than before: a person has to give more. */
  readonly isMore: boolean;
}

export interface DiscoveryOptions {
  readonly id: string;
  readonly server: URL;
  readonly settings: OAuthSettings;
  readonly refusals: Refusals;
  /** For each answer of the authorization server. */
  readonly timeoutMs: number;
}

/** Where to log in, and for what. */
export interface Found {
  readonly issuer: string;
  readonly url: string;
  readonly metadata: AuthorizationServerMetadata | undefined;
  readonly resource: string;
  readonly scope: string | undefined;
  readonly fetchFn: FetchLike;
}

/** No description or answer of an authorization server is larger. */
const ANSWER_BYTES = 256 * 1024;

const WHAT = "asked where to log in";

export class Discovery {
  readonly #options: DiscoveryOptions;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  /** `known` is the issuer of what is kept. */
  async find(wanted: Wanted, known: string | undefined, end: AbortSignal): Promise<Found> {
    const { server, settings } = this.#options;
    const fetchFn = this.#fetch(end);
    const described = await this.#resource(wanted.resourceMetadataUrl, fetchFn, end);
    const [named] = described?.authorization_servers ?? [];
    const url = named ?? String(new URL("/", server));
    if (named === undefined && known !== undefined && !isSameIssuer(known, url)) throw this.#unsaid();
    const resource = this.#ownResource(described);
    const metadata = await this.#metadata(url, fetchFn, end);
    const issuer = metadata?.issuer ?? url;
    this.#checkIssuer(issuer, url, metadata);
    for (const name of ["authorization_endpoint", "token_endpoint", "registration_endpoint"] as const)
      if (metadata?.[name] !== undefined) this.checkPlace(metadata[name]);
    const asked =
      (allScopes(settings.scope, wanted.scope) ?? described?.scopes_supported?.join(" ")) || undefined;
    const scope = withOffline(asked, metadata, settings);
    return { issuer, url, metadata, resource, scope, fetchFn };
  }

  checkPlace(place: string): void {
    const { server, settings, refusals } = this.#options;
    if (!isAllowed(place, { server, issuer: settings.issuer }))
      throw refusals.place(
        "it leads to a place that is not encrypted, or that only this machine or its network has",
      );
  }

  /** Undefined: the server has no such description, as it was before there were any. */
  async #resource(
    resourceMetadataUrl: URL | undefined,
    fetchFn: FetchLike,
    end: AbortSignal,
  ): Promise<OAuthProtectedResourceMetadata | undefined> {
    const { server, refusals } = this.#options;
    if (resourceMetadataUrl !== undefined && resourceMetadataUrl.origin !== server.origin)
      throw refusals.place("it describes its logins at another origin than its own");
    const statuses: number[] = [];
    try {
      return await discoverOAuthProtectedResourceMetadata(
        server,
        resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl },
        watched(fetchFn, statuses),
      );
    } catch (error) {
      end.throwIfAborted();
      if (resourceMetadataUrl === undefined && statuses.length > 0 && statuses.every(isAbsent))
        return undefined;
      const told = refusals.from(error, WHAT);
      const isUnsaid = told.code === "DOWNSTREAM_PROTOCOL_ERROR" && faultOf(error) === undefined;
      throw isUnsaid ? this.#unsaid() : told;
    }
  }

  /** Tokens for a parent of the server's own path are for the server too. */
  #ownResource(described: OAuthProtectedResourceMetadata | undefined): string {
    const { server, refusals } = this.#options;
    const requestedResource = resourceUrlFromServerUrl(server);
    const resource = described?.resource ?? requestedResource.href;
    if (!checkResourceAllowed({ requestedResource, configuredResource: resource }))
      throw refusals.place("it gives the tokens of another server in place of its own");
    return resource;
  }

  /** Undefined: the authorization server has no such description, and its endpoints are where they always were. */
  async #metadata(
    url: string,
    fetchFn: FetchLike,
    end: AbortSignal,
  ): Promise<AuthorizationServerMetadata | undefined> {
    const statuses: number[] = [];
    const metadata = await discoverAuthorizationServerMetadata(url, {
      fetchFn: watched(fetchFn, statuses),
    }).catch((error: unknown) => {
      end.throwIfAborted();
      throw this.#options.refusals.from(error, WHAT);
    });
    if (metadata === undefined && statuses.some((status) => status >= 500 || status === 429))
      throw this.#unsaid();
    return metadata;
  }

  #unsaid(): Error {
    const { id, refusals } = this.#options;
    return refusals.of(
      "SERVER_UNAVAILABLE",
      `Cannot log in to "${id}": it cannot be read where to log in, and nothing was sent elsewhere. Try again later`,
    );
  }

  #checkIssuer(issuer: string, url: string, metadata: AuthorizationServerMetadata | undefined): void {
    const { server, settings, refusals } = this.#options;
    const { issuer: configured, client } = settings;
    if (configured !== undefined && !isSameIssuer(configured, issuer))
      throw refusals.place("it names another authorization server than oauth.issuer");
    if (configured !== undefined || client?.client_secret === undefined) return;
    const getters = [url, metadata?.token_endpoint ?? url];
    if (getters.some((one) => URL.parse(one)?.origin !== server.origin))
      throw refusals.place(
        "it names an authorization server of another origin, which gets oauth.clientSecret only if it is configured as oauth.issuer",
      );
  }

  /** Only requests to places that may be asked, and only answers that are small and come in time. */
  #fetch(end: AbortSignal): FetchLike {
    const fetchBounded = boundedFetch(ANSWER_BYTES);
    return async (url, init) => {
      this.checkPlace(String(url));
      const late = AbortSignal.timeout(this.#options.timeoutMs);
      return fetchBounded(url, { ...init, signal: AbortSignal.any([end, late]) });
    };
  }
}

function watched(fetchFn: FetchLike, statuses: number[]): FetchLike {
  return async (url, init) => {
    const response = await fetchFn(url, init);
    statuses.push(response.status);
    return response;
  };
}

function isAbsent(status: number): boolean {
  return status === 404;
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
