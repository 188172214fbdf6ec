/**
 * Runs on the host. Login: what a connector has from an authorization server, as it is kept.
 *
 * - All of it belongs to one issuer, and is shown to no other.
 * - What comes from a store or a server is checked before it is used: nothing of it breaks a header.
 */
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/client";

export interface Login {
  readonly issuer: string;
  /** A client that registered itself. */
  readonly client?: Client;
  /** What that client registered as the place that browsers are sent back to. */
  readonly redirectUrl?: string;
  readonly tokens?: Tokens;
}

export type Client = Pick<OAuthClientInformationMixed, "client_id" | "client_secret"> & {
  readonly token_endpoint_auth_method?: string;
};

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly scope?: string;
}

/** A header has to hold it. */
const LONGEST = 12_000;

/** Undefined: it is not what was kept. */
export function loginOf(text: string): Login | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { issuer, client, redirectUrl, tokens } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof issuer !== "string") return undefined;
  const knownClient = clientOf(client);
  const knownTokens = tokensOf(tokens);
  return {
    issuer,
    ...(knownClient !== undefined && { client: knownClient }),
    ...(isText(redirectUrl) && { redirectUrl }),
    ...(knownTokens !== undefined && { tokens: knownTokens }),
  };
}

export function clientOf(value: unknown): Client | undefined {
  const { client_id, client_secret, token_endpoint_auth_method } = fieldsOf(value);
  if (!isText(client_id)) return undefined;
  return {
    client_id,
    ...(isText(client_secret) && { client_secret }),
    ...(isText(token_endpoint_auth_method) && { token_endpoint_auth_method }),
  };
}

/** Undefined: these are no tokens that can be used. */
export function tokensOf(value: unknown): Tokens | undefined {
  const { access_token, refresh_token, scope, token_type } = fieldsOf(value) as Partial<
    Record<keyof OAuthTokens, unknown>
  >;
  if (!isText(access_token)) return undefined;
  if (typeof token_type === "string" && token_type.toLowerCase() !== "bearer") return undefined;
  const granted = scopeOf(scope);
  return {
    access_token,
    ...(isText(refresh_token) && { refresh_token }),
    ...(granted !== undefined && { scope: granted }),
  };
}

/** The scopes in a text of a server, if that is what it is. */
export function scopeOf(value: unknown): string | undefined {
  return typeof value === "string" &&
    /^[\x21\x23-\x5b\x5d-\x7e][\x20\x21\x23-\x5b\x5d-\x7e]{0,3999}$/u.test(value)
    ? value
    : undefined;
}

/** Servers write the issuer with and without a slash at its end. */
export function isSameIssuer(one: string, other: string): boolean {
  return one.replace(/\/$/u, "") === other.replace(/\/$/u, "");
}

export function secretsOf({ client, tokens }: Login): string[] {
  return [client?.client_secret, tokens?.access_token, tokens?.refresh_token].filter(
    (one) => one !== undefined,
  );
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return (typeof value === "object" && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= LONGEST && /^[\x20-\x7e]+$/u.test(value);
}
