/**
 * Runs on the host. The fetch policy says what the `fetch` of a program may reach: as a host's programmer writes it,
 * and resolved.
 *
 * - It is resolved once, when a run starts or is resumed. An entry that cannot mean what it says throws a TypeError.
 * - Only what is allowed can be reached: a policy without origins and prefixes allows nothing.
 */
import { encodedSeparatorIn } from "./encoded-path.ts";
import { loadGuardedFetch } from "./guarded-fetch.ts";

export interface FetchPolicy {
  /** Makes the requests; default `globalThis.fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Origins whose URLs may all be fetched, like "https://api.example.com". */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** An origin and the first segments of a path, like "https://example.com/api". Only whole segments match. */
  readonly allowedUrlPrefixes?: readonly string[] | undefined;
  /** Default GET and HEAD. */
  readonly allowedMethods?: readonly string[] | undefined;
  /** Most bytes of a response's body, after decompression; default 1 MiB. */
  readonly maxResponseBytes?: number | undefined;
  /** Whether redirects are followed, each by a request of its own under this policy; default false. */
  readonly allowRedirects?: boolean | undefined;
  /** Most redirects of one fetch; default 10. */
  readonly maxRedirects?: number | undefined;
  /**
   * Refuses private, loopback, link-local and all other addresses that are not on the public internet, after names
   * are resolved; default false. Needs the package undici, and cannot be combined with `fetch`.
   */
  readonly blockPrivateAddresses?: boolean | undefined;
}

export interface UrlPrefix {
  readonly origin: string;
  readonly path: string;
}

export interface ResolvedFetchPolicy {
  readonly fetch: typeof globalThis.fetch;
  readonly origins: ReadonlySet<string>;
  readonly prefixes: readonly UrlPrefix[];
  readonly methods: ReadonlySet<string>;
  readonly maxResponseBytes: number;
  readonly allowRedirects: boolean;
  readonly maxRedirects: number;
  readonly blocksPrivateAddresses: boolean;
}

type PolicyName = keyof FetchPolicy;

const NAMES: Readonly<Record<PolicyName, true>> = {
  fetch: true,
  allowedOrigins: true,
  allowedUrlPrefixes: true,
  allowedMethods: true,
  maxResponseBytes: true,
  allowRedirects: true,
  maxRedirects: true,
  blockPrivateAddresses: true,
};

const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}$/u;
/** Methods that are never allowed: they open tunnels or show what proxies add. */
const NEVER: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

const DEFAULT_METHODS = ["GET", "HEAD"];
const DEFAULT_RESPONSE_BYTES = 1024 * 1024;
const DEFAULT_REDIRECTS = 10;

export function resolveFetchPolicy(policy: FetchPolicy): ResolvedFetchPolicy {
  if (typeof policy !== "object" || policy === null) throw wrong("it must be an object");
  for (const name of Object.keys(policy)) {
    if (!Object.hasOwn(NAMES, name)) {
      throw wrong(`no such option "${name}", known are ${Object.keys(NAMES).join(", ")}`);
    }
  }
  const blocksPrivateAddresses = booleanOf(policy, "blockPrivateAddresses");
  return {
    fetch: fetchOf(policy, blocksPrivateAddresses),
    origins: new Set(listOf(policy, "allowedOrigins").map(toOrigin)),
    prefixes: listOf(policy, "allowedUrlPrefixes").map(toPrefix),
    methods: new Set(listOf(policy, "allowedMethods", DEFAULT_METHODS).map(toAllowedMethod)),
    maxResponseBytes: countOf(policy, "maxResponseBytes", DEFAULT_RESPONSE_BYTES),
    allowRedirects: booleanOf(policy, "allowRedirects"),
    maxRedirects: countOf(policy, "maxRedirects", DEFAULT_REDIRECTS),
    blocksPrivateAddresses,
  };
}

/** The method in the form that is compared and sent; undefined for a text that is never an allowed method. */
export function toMethod(text: string): string | undefined {
  const method = METHOD.test(text) ? text.toUpperCase() : undefined;
  return method === undefined || NEVER.has(method) ? undefined : method;
}

function fetchOf({ fetch }: FetchPolicy, isGuarded: boolean): typeof globalThis.fetch {
  if (isGuarded) {
    if (fetch !== undefined) {
      throw wrong(
        "blockPrivateAddresses cannot be combined with a fetch of your own, leave out one of them, and check addresses in your fetch",
      );
    }
    return loadGuardedFetch();
  }
  const made = fetch ?? globalThis.fetch;
  if (typeof made !== "function") throw wrong("fetch must be a function");
  return made;
}

function toOrigin(entry: string): string {
  const url = entryUrl("allowedOrigins", entry);
  if (url.pathname !== "/") {
    throw wrong(
      `allowedOrigins has ${show(entry)}, expected an origin without a path, paths are for allowedUrlPrefixes`,
    );
  }
  return url.origin;
}

function toPrefix(entry: string): UrlPrefix {
  const { origin, pathname } = entryUrl("allowedUrlPrefixes", entry);
  const problem = encodedSeparatorIn(pathname);
  if (problem !== undefined) throw wrong(`allowedUrlPrefixes has ${show(entry)}, its path has ${problem}`);
  return { origin, path: pathname };
}

function entryUrl(name: PolicyName, entry: string): URL {
  const url = URL.parse(entry);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw wrong(`${name} has ${show(entry)}, expected an absolute URL with http or https`);
  }
  if (url.hostname.includes("*")) {
    throw wrong(`${name} has ${show(entry)}, patterns are not possible, list each host`);
  }
  if (url.username !== "" || url.password !== "") {
    throw wrong(`${name} has ${show(`${url.origin}/…`)} with a user name or password, leave them out`);
  }
  // `new URL` drops an empty query and an empty fragment, so look at the text.
  if (entry.includes("?") || entry.includes("#")) {
    throw wrong(`${name} has ${show(entry)}, expected no query and no fragment`);
  }
  return url;
}

function toAllowedMethod(entry: string): string {
  const method = toMethod(entry);
  if (method === undefined) throw wrong(`allowedMethods has ${show(entry)}, which no fetch may use`);
  return method;
}

function listOf(
  policy: FetchPolicy,
  name: "allowedOrigins" | "allowedUrlPrefixes" | "allowedMethods",
  otherwise: readonly string[] = [],
): readonly string[] {
  const given: unknown = policy[name] ?? otherwise;
  if (!Array.isArray(given)) throw wrong(`${name} must be a list of strings`);
  for (const entry of given as unknown[]) {
    if (typeof entry !== "string") throw wrong(`${name} has a ${typeof entry}, expected strings`);
  }
  return given as string[];
}

function countOf(policy: FetchPolicy, name: "maxResponseBytes" | "maxRedirects", otherwise: number): number {
  const given: unknown = policy[name] ?? otherwise;
  const least = name === "maxRedirects" ? 0 : 1;
  if (!Number.isSafeInteger(given) || (given as number) < least) {
    throw wrong(`${name} is ${String(given)}, expected a whole number from ${least} on`);
  }
  return given as number;
}

function booleanOf(policy: FetchPolicy, name: "allowRedirects" | "blockPrivateAddresses"): boolean {
  const given: unknown = policy[name] ?? false;
  if (typeof given !== "boolean") throw wrong(`${name} must be a boolean`);
  return given;
}

function show(entry: string): string {
  return JSON.stringify(entry.slice(0, 200));
}

function wrong(problem: string): TypeError {
  return new TypeError(`Cannot use the fetch policy: ${problem}`);
}
