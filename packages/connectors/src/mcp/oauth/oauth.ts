/**
 * Runs on the host. OAuth: the tokens of one connector for its MCP server, and requests that carry them.
 *
 * - Only requests to the server's own origin carry a token. A request is repeated only when the server refused it before it
 *   read it: once for new tokens, and once for more rights.
 * - Whoever needs an authorization while one is under way waits for that one. After a login that failed nobody is asked
 *   again for a time: no program can make a person log in again and again.
 * - Whatever is learnt that is secret is hidden before anybody can use it.
 */
import {
  computeScopeUnion,
  extractWWWAuthenticateParams,
  isStrictScopeSuperset,
} from "@modelcontextprotocol/client";
import type { Hidden } from "../../backend/hidden-texts.ts";
import type { Pauses } from "../../backend/pauses.ts";
import { SharedWork } from "../../backend/shared-work.ts";
import { ConnectorError } from "../../contract/connector-error.ts";
import { Authorization, type Wanted } from "./authorization.ts";
import { type Login, loginOf, scopeOf, secretsOf, type Tokens } from "./login.ts";
import type { OAuthSettings } from "./options.ts";
import { Refusals } from "./refusals.ts";
import type { TokenKey } from "./token-store.ts";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface OAuthOptions {
  readonly id: string;
  readonly server: URL;
  readonly settings: OAuthSettings;
  readonly hidden: Hidden;
  readonly pauses: Pauses;
  readonly timeoutMs: number;
}

type Challenge = Omit<Wanted, "isMore"> & { readonly kind: "unauthorized" | "scope" };

/** Nobody is asked again so soon after a login that failed. */
const REST_MS = 30_000;

export class OAuth {
  readonly #options: OAuthOptions;
  readonly #key: TokenKey;
  readonly #refusals: Refusals;
  readonly #authorization: Authorization;
  readonly #work = new SharedWork<Tokens>();
  readonly #end = new AbortController();
  /** Undefined: nothing was loaded yet. */
  #loaded: Promise<void> | undefined;
  #login: Login | undefined;
  #refusal: { readonly error: ConnectorError; readonly until: number } | undefined;

  constructor(options: OAuthOptions) {
    const { id, server, settings } = options;
    this.#options = options;
    const client = settings.client?.client_id ?? settings.clientMetadataUrl ?? "";
    this.#key = { connector: id, server: server.origin + server.pathname, client };
    this.#refusals = new Refusals(id);
    this.#authorization = new Authorization({ ...options, refusals: this.#refusals });
  }

  /** A fetch whose requests have the token, and get another one where the server wants that. */
  through(fetchPlain: Fetch): Fetch {
    return async (url, init = {}) => {
      if (new URL(url).origin !== this.#options.server.origin) return fetchPlain(url, init);
      const done = new Set<Challenge["kind"]>();
      const tokens = await this.#current();
      for (let used = tokens; ;) {
        const response = await fetchPlain(url, bearing(init, used));
        const challenge = challengeOf(response);
        if (challenge === undefined) return response;
        if (done.has(challenge.kind)) {
          if (challenge.kind === "unauthorized") await this.#forget(used);
          return response;
        }
        done.add(challenge.kind);
        await response.body?.cancel().catch(() => {});
        used = await this.#renewed(used, challenge, init.signal ?? this.#end.signal);
      }
    };
  }

  /** Logins that are under way end. */
  end(): void {
    this.#end.abort(new DOMException("The connector has ended", "AbortError"));
  }

  async #renewed(used: Tokens | undefined, challenge: Challenge, signal: AbortSignal): Promise<Tokens> {
    const either = AbortSignal.any([signal, this.#end.signal]);
    try {
      return await this.#work.join(either, (told) => this.#authorized(used, challenge, told));
    } catch (error) {
      either.throwIfAborted();
      throw error;
    }
  }

  async #authorized(used: Tokens | undefined, challenge: Challenge, signal: AbortSignal): Promise<Tokens> {
    const { tokens: before } = this.#login ?? {};
    if (before !== undefined && before.access_token !== used?.access_token) return before;
    // Another process may have been faster.
    const kept = await this.#load();
    if (kept?.tokens !== undefined && kept.tokens.access_token !== used?.access_token) {
      this.#login = kept;
      return kept.tokens;
    }
    if (this.#refusal !== undefined && performance.now() < this.#refusal.until) throw this.#refusal.error;
    try {
      const login = await this.#authorization.get(this.#login, this.#wanted(challenge), signal);
      this.#learn(login);
      this.#login = login;
      if (login.tokens === undefined) throw this.#refusals.nobody();
      await this.#kept("keep", () => this.#options.settings.tokens.save(this.#key, JSON.stringify(login)));
      return login.tokens;
    } catch (error) {
      if (!signal.aborted && error instanceof ConnectorError && ASKED.has(error.code)) {
        this.#refusal = { error, until: performance.now() + REST_MS };
        // The server may have forgotten the client that registered itself: the next login registers it again.
        const { issuer, tokens } = this.#login ?? {};
        if (issuer !== undefined) this.#login = { issuer, ...(tokens !== undefined && { tokens }) };
      }
      throw error;
    }
  }

  #wanted({ kind, resourceMetadataUrl, scope }: Challenge): Wanted {
    const { scope: granted } = this.#login?.tokens ?? {};
    if (kind === "unauthorized") return { resourceMetadataUrl, scope, isMore: false };
    const all = computeScopeUnion(granted, scope);
    return { resourceMetadataUrl, scope: all, isMore: isStrictScopeSuperset(all, granted) };
  }

  async #current(): Promise<Tokens | undefined> {
    if (this.#login === undefined) {
      this.#loaded ??= this.#load()
        .then((login) => {
          this.#login ??= login;
        })
        .catch((error: unknown) => {
          this.#loaded = undefined;
          throw error;
        });
      await this.#loaded;
    }
    return this.#login?.tokens;
  }

  async #load(): Promise<Login | undefined> {
    const text = await this.#kept("load", () => this.#options.settings.tokens.load(this.#key));
    const login = typeof text === "string" ? loginOf(text) : undefined;
    if (login !== undefined) this.#learn(login);
    return login;
  }

  /** New tokens that the server does not take either: the next authorization begins with a person. */
  async #forget(used: Tokens | undefined): Promise<void> {
    const login = this.#login;
    if (used === undefined || login?.tokens?.access_token !== used.access_token) return;
    const { issuer, client } = login;
    this.#login = { issuer, ...(client !== undefined && { client }) };
    await this.#kept("delete", () => this.#options.settings.tokens.delete(this.#key));
  }

  #learn(login: Login): void {
    const { inData, inErrors } = this.#options.hidden;
    for (const hidden of new Set([inData, inErrors])) hidden.learn(secretsOf(login));
  }

  async #kept<T>(what: string, work: () => Promise<T> | T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const message = `Cannot ${what} the tokens of "${this.#options.id}": the store of oauth.tokens failed`;
      throw this.#refusals.of("CONFIG_INVALID", message, error);
    }
  }
}

/** Failures after which somebody would be asked to log in again. */
const ASKED: ReadonlySet<string> = new Set(["AUTH_REQUIRED", "AUTH_FAILED"]);

function bearing(init: RequestInit, tokens: Tokens | undefined): RequestInit {
  if (tokens === undefined) return init;
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${tokens.access_token}`);
  return { ...init, headers };
}

function challengeOf(response: Response): Challenge | undefined {
  if (response.status !== 401 && response.status !== 403) return undefined;
  const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(response);
  const about = { resourceMetadataUrl, scope: scopeOf(scope) };
  if (response.status === 401) return { kind: "unauthorized", ...about };
  return error === "insufficient_scope" ? { kind: "scope", ...about } : undefined;
}
