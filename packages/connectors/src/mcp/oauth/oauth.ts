/**
 * Runs on the host. OAuth: the tokens of one connector for its MCP server, and requests that carry them.
 *
 * - Only requests to the server's own origin carry a token. A request is repeated only when the server refused it before it
 *   read it: once for new tokens, once for more rights, and a few times with tokens that somebody else got.
 * - Whoever needs an authorization while one is under way waits for that one. Tokens that are on their way are kept even if
 *   nobody waits for them any more: the server may have taken back those before.
 * - After a login that brought nothing nobody is asked again for a time: no program can make a person log in again and again.
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
import { Authorization } from "./authorization.ts";
import type { Wanted } from "./discovery.ts";
import { type Login, loginOf, scopeOf, secretsOf, type Tokens } from "./login.ts";
import type { OAuthSettings } from "./options.ts";
import { Refusals } from "./refusals.ts";
import { Rests } from "./rests.ts";
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

/** Tokens in place of those that were used. */
interface Renewal {
  readonly tokens: Tokens;
  /** What the authorization server gave them for. Undefined: they were there before, or another process got them. */
  readonly issuedFor: Challenge | undefined;
}

/** How often a request is repeated with tokens that were not issued for it. */
const MOST_FOUND = 3;

export class OAuth {
  readonly #options: OAuthOptions;
  readonly #key: TokenKey;
  readonly #refusals: Refusals;
  readonly #authorization: Authorization;
  readonly #work = new SharedWork<Renewal>();
  readonly #rests = new Rests();
  readonly #end = new AbortController();
  /** Undefined: nothing was loaded yet. */
  #loaded: Promise<void> | undefined;
  #login: Login | undefined;

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
      const [done, wanted] = [new Set<Challenge["kind"]>(), new Set<string>()];
      let issued: Tokens | undefined;
      let found = 0;
      for (let used = await this.#current(); ;) {
        const response = await fetchPlain(url, bearing(init, used));
        const challenge = challengeOf(response);
        if (challenge === undefined) {
          for (const key of wanted) this.#rests.end(key);
          return response;
        }
        if (done.has(challenge.kind)) {
          if (challenge.kind === "unauthorized" && used === issued) await this.#forget(used);
          return response;
        }
        wanted.add(keyOf(challenge));
        await response.body?.cancel().catch(() => {});
        const renewal = await this.#renewed(used, challenge, init.signal ?? this.#end.signal);
        used = renewal.tokens;
        if (isMadeFor(challenge, renewal)) {
          issued = used;
          done.add(challenge.kind);
        } else if (++found === MOST_FOUND) done.add(challenge.kind);
      }
    };
  }

  /** Logins that are under way end. */
  end(): void {
    this.#end.abort(new DOMException("The connector has ended", "AbortError"));
  }

  async #renewed(used: Tokens | undefined, challenge: Challenge, signal: AbortSignal): Promise<Renewal> {
    const either = AbortSignal.any([signal, this.#end.signal]);
    try {
      return await this.#work.join(either, (told) => this.#authorized(used, challenge, told));
    } catch (error) {
      either.throwIfAborted();
      throw error;
    }
  }

  async #authorized(used: Tokens | undefined, challenge: Challenge, waited: AbortSignal): Promise<Renewal> {
    const before = this.#login?.tokens;
    if (before !== undefined && before.access_token !== used?.access_token)
      return { tokens: before, issuedFor: undefined };
    // Another process may have been faster.
    const other = await this.#other(used);
    if (other?.tokens !== undefined) return { tokens: other.tokens, issuedFor: undefined };
    const key = keyOf(challenge);
    const wanted = this.#wanted(challenge);
    const rest = this.#rests.of(key);
    const isRefreshed = !wanted.isMore && this.#login?.tokens?.refresh_token !== undefined;
    if (rest !== undefined && !isRefreshed) throw rest;
    let found: Login | undefined;
    let isAsked = false;
    try {
      const login = await this.#authorization.get(this.#login, wanted, {
        waited,
        end: this.#end.signal,
        spent: async () => {
          found = await this.#other(used);
          if (found === undefined) this.#login = withoutRefresh(this.#login);
          return found;
        },
        mayAsk: () => {
          if (rest !== undefined) throw rest;
        },
        asked: () => {
          isAsked = true;
          this.#rests.begin(key, this.#refusals.givenUp());
        },
        clientLost: () => {
          this.#login = withoutClient(this.#login);
        },
      });
      if (login.tokens === undefined) throw this.#refusals.nobody();
      if (login === found) return { tokens: login.tokens, issuedFor: undefined };
      if (isAsked) this.#rests.begin(key, this.#refusals.inVain());
      this.#learn(login);
      this.#login = login;
      await this.#kept("keep", () => this.#options.settings.tokens.save(this.#key, JSON.stringify(login)));
      return { tokens: login.tokens, issuedFor: challenge };
    } catch (error) {
      if (error instanceof ConnectorError && ASKED.has(error.code)) this.#rests.begin(key, error);
      throw error;
    }
  }

  /** What another process got in place of the tokens that were used. */
  async #other(used: Tokens | undefined): Promise<Login | undefined> {
    const kept = await this.#load();
    if (kept?.tokens === undefined || kept.tokens.access_token === used?.access_token) return undefined;
    this.#login = kept;
    return kept;
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
    // What another process got in the meantime is not what was refused.
    if ((await this.#other(used)) !== undefined || this.#login !== login) return;
    const { tokens: _, ...rest } = login;
    this.#login = rest;
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

function isMadeFor(challenge: Challenge, { issuedFor }: Renewal): boolean {
  if (issuedFor === undefined) return false;
  // Any new token is one that the server should take. What rights it has depends on who asked for it.
  return challenge.kind === "unauthorized" || issuedFor === challenge;
}

/** What a person would be asked for. */
function keyOf({ kind, scope }: Challenge): string {
  return kind === "unauthorized" ? kind : `${kind} ${(scope ?? "").split(" ").toSorted().join(" ")}`;
}

function withoutRefresh(login: Login | undefined): Login | undefined {
  if (login?.tokens === undefined) return login;
  const { refresh_token: _, ...tokens } = login.tokens;
  return { ...login, tokens };
}

/** The next login registers the client again. As long as tokens can be refreshed, they are that client's. */
function withoutClient(login: Login | undefined): Login | undefined {
  if (login === undefined || login.tokens?.refresh_token !== undefined) return login;
  const { client: _, redirectUrl: __, ...rest } = login;
  return rest;
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
