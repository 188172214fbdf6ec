/**
 * Runs on the host. Says whether a fetch policy allows a URL. Every URL of a fetch passes here: the program's own,
 * the target of each redirect, and the URL that a response says it is from.
 *
 * URLs are compared after parsing, so that case, default ports, punycode and spellings of an address do not matter. A
 * host with a final dot is another host.
 */
import { literalAddress, isPublicAddress } from "./addresses.ts";
import { encodedSeparatorIn } from "./encoded-path.ts";
import type { ResolvedFetchPolicy, UrlPrefix } from "./policy.ts";
import { refusal } from "./refuse.ts";

/** Most servers refuse longer URLs, and parsing them would keep the host busy. */
const LONGEST_URL = 16_384;
/**
 * A name has at most 253 characters. Writing a name in ASCII takes time that grows with the square of its length, on
 * the host's event loop.
 */
const LONGEST_AUTHORITY = 300;
const MOST_SHOWN = 10;
/** Characters that a URL parser ignores. */
const IGNORED = /^[\0-\x20]+|[\t\n\r]+/gu;
const AUTHORITY = /^(?:[a-z][a-z0-9+.-]*:[/\\]*|[/\\]{2,})([^/\\?#]*)/iu;

/** Parses a program's URL for code that only reports it. Undefined if no fetch would be made to this URL. */
export function readUrl(text: string): URL | undefined {
  if (text.length > LONGEST_URL || authorityOf(text).length > LONGEST_AUTHORITY) return undefined;
  return URL.parse(text) ?? undefined;
}

function authorityOf(text: string): string {
  return AUTHORITY.exec(text.replaceAll(IGNORED, ""))?.[1] ?? "";
}

/** Gives the URL without its fragment. Throws a refusal. */
export function checkUrl(text: string, policy: ResolvedFetchPolicy, base?: URL): URL {
  if (text.length > LONGEST_URL) {
    throw refusal(text, `the URL has ${text.length} characters, at most ${LONGEST_URL} are allowed`);
  }
  const authority = authorityOf(text);
  if (authority.length > LONGEST_AUTHORITY) {
    throw refusal(
      text,
      `its host has ${authority.length} characters, at most ${LONGEST_AUTHORITY} are allowed`,
    );
  }
  const url = URL.parse(text, base?.href);
  if (url === null)
    throw refusal(text, "this is not an absolute URL, write one like https://example.com/path");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw refusal(text, `only http and https are possible. ${allowedIn(policy)}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw refusal(
      `${url.origin}${url.pathname}`,
      "the URL has a user name or password, use an authorization header",
    );
  }
  url.hash = "";
  const { href, origin, pathname } = url;
  if (!policy.origins.has(origin)) {
    if (!policy.prefixes.some((prefix) => isUnder(url, prefix))) {
      throw refusal(href, `it is not allowed. ${allowedIn(policy)}`);
    }
    const hidden = encodedSeparatorIn(pathname);
    if (hidden !== undefined) throw refusal(href, `its path has ${hidden}. ${allowedIn(policy)}`);
  }
  if (policy.blocksPrivateAddresses) {
    const address = literalAddress(url);
    if (address !== undefined && !isPublicAddress(address)) throw refusal(href, PRIVATE);
  }
  return url;
}

export const PRIVATE =
  "its host has an address that is not on the public internet, and such addresses are blocked";

function isUnder({ origin, pathname }: URL, prefix: UrlPrefix): boolean {
  if (origin !== prefix.origin) return false;
  if (pathname === prefix.path) return true;
  return pathname.startsWith(prefix.path.endsWith("/") ? prefix.path : `${prefix.path}/`);
}

function allowedIn({ origins, prefixes }: ResolvedFetchPolicy): string {
  const all = [...origins, ...prefixes.map(({ origin, path }) => `${origin}${path}`)];
  if (all.length === 0) return "Nothing is allowed";
  const more = all.length > MOST_SHOWN ? ` and ${all.length - MOST_SHOWN} more` : "";
  return `Allowed are ${all.slice(0, MOST_SHOWN).join(", ")}${more}`;
}
