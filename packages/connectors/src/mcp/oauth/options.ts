/**
 * Runs on the host. How a connector logs in to an MCP server, made complete and checked.
 *
 * - What is wrong is said by the names of options. Their values may be secret.
 */
import { memoryTokens, type TokenStore } from "./token-store.ts";

export interface AuthorizeRequest {
  /** The id of the connector. */
  readonly connector: string;
  /** What a person opens in a browser. */
  readonly url: URL;
  /** Nobody waits for the login any more. */
  readonly signal: AbortSignal;
}

/** Lets a person log in. Gives the URL that the browser was sent back to, or the code in it. */
export type OnAuthorize = (request: AuthorizeRequest) => Promise<string | URL>;

export interface McpOAuthOptions {
  /** A client that was registered before. Without it the connector registers itself. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** The https URL of a document about this client, for authorization servers that read one in place of a registration. */
  readonly clientMetadataUrl?: string;
  /** What a registration calls this client. */
  readonly clientName?: string;
  /** The only authorization server that may be used, and that gets `clientSecret`. */
  readonly issuer?: string;
  /** The scopes to ask for, divided by blanks. Unless said, those that the server names. */
  readonly scope?: string;
  /** `authorization_code` asks a person. `client_credentials` is for clients that have rights of their own. */
  readonly grant?: "authorization_code" | "client_credentials";
  /** Absent: nobody can log in, and only the tokens that are kept are used. */
  readonly onAuthorize?: OnAuthorize;
  /** Where the browser is sent back to. Needed with `onAuthorize`. */
  readonly redirectUrl?: string;
  /** How long a person may take to log in. 5 minutes unless said. */
  readonly authorizeTimeoutMs?: number;
  /** Keeps what logins bring. Unless said, this connector does, until it ends. */
  readonly tokens?: TokenStore;
}

export interface OAuthSettings {
  readonly client: { readonly client_id: string; readonly client_secret?: string } | undefined;
  readonly clientMetadataUrl: string | undefined;
  readonly clientName: string;
  readonly issuer: string | undefined;
  readonly scope: string | undefined;
  readonly grant: "authorization_code" | "client_credentials";
  readonly login: { readonly onAuthorize: OnAuthorize; readonly redirectUrl: string } | undefined;
  readonly authorizeTimeoutMs: number;
  readonly tokens: TokenStore;
}

const NAMES = new Set([
  "clientId",
  "clientSecret",
  "clientMetadataUrl",
  "clientName",
  "issuer",
  "scope",
  "grant",
  "onAuthorize",
  "redirectUrl",
  "authorizeTimeoutMs",
  "tokens",
]);

const TEXTS = [
  "clientId",
  "clientSecret",
  "clientMetadataUrl",
  "clientName",
  "issuer",
  "scope",
  "redirectUrl",
] as const;

const FIVE_MINUTES_MS = 300_000;
const LONGEST_MS = 2_147_483_647;

/** Credentials go where nobody listens: encrypted, or on this machine. */
export function isLoopback({ hostname }: URL): boolean {
  // Whole addresses: a name may begin with 127 too.
  const isAddress = /^127(?:\.\d{1,3}){3}$/u.test(hostname) || hostname === "[::1]";
  return isAddress || hostname === "localhost" || hostname.endsWith(".localhost");
}

export function resolveOAuth(
  options: McpOAuthOptions,
  server: { readonly url: URL; readonly headers: Readonly<Record<string, string>> },
  wrong: (what: string) => never,
): OAuthSettings {
  if (typeof options !== "object" || options === null) wrong('"oauth" has to be an object');
  const unknown = Object.keys(options).filter((name) => !NAMES.has(name));
  if (unknown.length > 0)
    wrong(`nobody reads its options ${unknown.map((name) => `oauth.${name}`).join(", ")}`);
  for (const name of TEXTS) {
    const value: unknown = options[name];
    if (value !== undefined && (typeof value !== "string" || value === ""))
      wrong(`"oauth.${name}" has to be a text`);
  }
  const { clientId, clientSecret, clientMetadataUrl, issuer, scope, onAuthorize, redirectUrl } = options;
  const { grant = "authorization_code", tokens = memoryTokens() } = options;
  if (server.url.protocol !== "https:" && !isLoopback(server.url))
    wrong('"oauth" needs a "url" that begins with https:');
  if (Object.keys(server.headers).some((name) => name.toLowerCase() === "authorization"))
    wrong('it has "oauth" and an "authorization" among its "headers": leave one out');
  if (grant !== "authorization_code" && grant !== "client_credentials")
    wrong('"oauth.grant" has to be "authorization_code" or "client_credentials"');
  if (clientSecret !== undefined && clientId === undefined)
    wrong('"oauth.clientSecret" needs "oauth.clientId"');
  if (grant === "client_credentials" && clientSecret === undefined)
    wrong('"oauth.grant" is "client_credentials", which needs "oauth.clientId" and "oauth.clientSecret"');
  if (clientMetadataUrl !== undefined && URL.parse(clientMetadataUrl)?.protocol !== "https:")
    wrong('"oauth.clientMetadataUrl" has to begin with https:');
  if (issuer !== undefined && URL.parse(issuer) === null) wrong('"oauth.issuer" has to be a URL');
  if (onAuthorize !== undefined && typeof onAuthorize !== "function")
    wrong('"oauth.onAuthorize" has to be a function');
  if (onAuthorize !== undefined && URL.parse(redirectUrl ?? "") === null)
    wrong('"oauth.onAuthorize" needs "oauth.redirectUrl", the URL that browsers are sent back to');
  const { authorizeTimeoutMs = FIVE_MINUTES_MS } = options;
  if (
    typeof authorizeTimeoutMs !== "number" ||
    !(authorizeTimeoutMs >= 1 && authorizeTimeoutMs <= LONGEST_MS)
  )
    wrong(`"oauth.authorizeTimeoutMs" has to be a number from 1 to ${LONGEST_MS}`);
  return {
    client:
      clientId === undefined
        ? undefined
        : { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) },
    clientMetadataUrl,
    clientName: options.clientName ?? "Codecell",
    issuer,
    scope,
    grant,
    login: onAuthorize === undefined || redirectUrl === undefined ? undefined : { onAuthorize, redirectUrl },
    authorizeTimeoutMs,
    tokens,
  };
}
