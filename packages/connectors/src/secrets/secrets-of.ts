/**
 * Runs on the host. Finds what is secret among the plain texts of a configuration: by the names under which it stands.
 *
 * - A name is read by its words: `API_KEY` and `x-auth-token` are those of secrets, `GIT_AUTHOR_NAME` and `MAX_TOKENS` are not.
 */

const SECRET_WORDS: ReadonlySet<string> = new Set([
  "auth",
  "authorization",
  "pass",
  "pat",
  "pwd",
  "pw",
  "sig",
  "private",
]);
/** Also as the end of a word: `PGPASSWORD`, `clientsecret`. */
const SECRET_ENDING =
  /(?:apikey|accesskey|authkey|secretkey|privatekey|bearer|cookie|credentials?|passphrase|passwords?|passwd|secrets?|session|signature|token)$|^key$|^.+pass$/u;
/** What has a secret word before it and is none: where something is, for how long, or what it is called. */
const SAYS_OF_SECRETS: ReadonlySet<string> = new Set(
  "age algorithm author count dir directory domain enabled expires expiry file folder format header host issuer length limit max method min mode name path port prefix samesite secure size timeout ttl type uri url".split(
    " ",
  ),
);
/** Words that end like secret ones. */
const NO_SECRETS: ReadonlySet<string> = new Set(["bypass", "compass", "encompass", "surpass", "trespass"]);
/** A shorter part of a path is a word such as the name of a collection. */
const SHORTEST_SEGMENT = 20;

export function isSecretName(name: string): boolean {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/gu, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/u)
    .filter((word) => word !== "");
  const isApiKey = words.includes("api") && words.includes("key");
  if (SAYS_OF_SECRETS.has(words.at(-1) ?? "")) return false;
  return isApiKey || words.some((word) => isSecretWord(word));
}

function isSecretWord(word: string): boolean {
  return SECRET_WORDS.has(word) || (SECRET_ENDING.test(word) && !NO_SECRETS.has(word));
}

/** Of headers and parameters, which have fewer names for other things. */
function isSecretKey(name: string): boolean {
  return isSecretName(name) || /key$/iu.test(name);
}

/** A value of a header, and what of it is the secret itself: behind its scheme, in its pairs, or in a user's credentials. */
function secretsOfHeader(value: string): readonly string[] {
  const [, scheme = "", behindScheme = value] = /^\s*(\S+)\s+(.+)$/su.exec(value) ?? [];
  const credentials = behindScheme.trim();
  const pairs = value.split(";").flatMap((pair) => pair.split("=").slice(1).join("=").trim());
  const user = scheme.toLowerCase() === "basic" ? Buffer.from(credentials, "base64").toString() : "";
  return [...new Set([value, credentials, ...pairs, ...(user === "" ? [] : secretsOfUser(user))])];
}

/** Of a user and a password, as they are and as they are sent. */
function secretsOfUser(user: string): readonly string[] {
  const colon = user.indexOf(":");
  return colon === -1 ? [] : [user, user.slice(colon + 1), Buffer.from(user).toString("base64")];
}

/** The secrets among headers, by their names. */
export function secretsOfHeaders(headers: Readonly<Record<string, string>> = {}): readonly string[] {
  return textsOf(headers)
    .filter(([name]) => isSecretKey(name))
    .flatMap(([, value]) => secretsOfHeader(value));
}

/** The secrets among parameters of a query or a form, by their names. */
export function secretsOfParameters(parameters: unknown): readonly string[] {
  return textsOf(parameters).flatMap(([name, value]) => (isSecretKey(name) ? [value] : []));
}

/** Of a text with a query. */
export function secretsOfQuery(text: string): readonly string[] {
  const at = text.indexOf("?");
  return at === -1
    ? []
    : [...new URLSearchParams(text.slice(at + 1))].flatMap(([name, value]) =>
        isSecretKey(name) ? [value] : [],
      );
}

/**
 * What of a URL is no address: its user, and what in its query is a secret by its name. If the whole URL was a secret, all of
 * its query, and long parts of its path.
 */
export function secretsOfUrl(text: string, isSecret: boolean): readonly string[] {
  const url = URL.parse(text);
  if (url === null) return isSecret ? [text] : [];
  const { username, password, pathname, searchParams, search, hash } = url;
  const user = [decoded(username), decoded(password)];
  if (!isSecret) return [...user, ...secretsOfQuery(search)];
  const names = [...searchParams.keys()].filter((name) => name.length >= SHORTEST_SEGMENT);
  const segments = pathname.split("/").filter((one) => one.length >= SHORTEST_SEGMENT);
  return [...user, ...searchParams.values(), ...names, ...segments, ...segments.map(decoded), hash.slice(1)];
}

const USER_OPTION = /^(?:-u|-U|--user|--proxy-user)(?:=|$)/u;
const HEADER = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+):\s*(.+)$/su;
const ADDRESS = /[a-z][a-z0-9+.-]*:\/\/\S+/giu;

/** The secrets among arguments: `--token=x`, `--token x`, `-H "Authorization: x"`, `-u user:x`, `https://user:x@host`. */
export function secretsOfArguments(args: unknown): readonly string[] {
  if (!Array.isArray(args)) return [];
  return args.flatMap((one: unknown, at) => {
    if (typeof one !== "string") return [];
    const before: unknown = args[at - 1];
    const option = typeof before === "string" && /^--?[^=]+$/u.test(before) ? before : "";
    return secretsOfArgument(one, option);
  });
}

function secretsOfArgument(argument: string, option: string): readonly string[] {
  const [name = "", ...parts] = argument.split("=");
  const value = parts.join("=");
  const found: string[] = [];
  if (parts.length > 0 && isSecretName(name)) found.push(value);
  if (option !== "" && isSecretName(option) && !argument.startsWith("-")) found.push(argument);
  if (USER_OPTION.test(option)) found.push(...secretsOfUser(argument));
  if (USER_OPTION.test(argument)) found.push(...secretsOfUser(value));
  else if (/^-[uU][^=-]/u.test(argument)) found.push(...secretsOfUser(argument.slice(2)));
  for (const text of [argument, value, argument.replace(/^-H/u, "")]) {
    const [, header, sent = ""] = HEADER.exec(text) ?? [];
    if (header !== undefined && isSecretKey(header)) found.push(...secretsOfHeader(sent));
  }
  for (const [address] of argument.matchAll(ADDRESS)) found.push(...secretsOfUrl(address, false));
  return found;
}

/** Pairs of a record whose values are texts: what is no text is refused elsewhere. */
export function textsOf(record: unknown): readonly (readonly [name: string, value: string])[] {
  if (typeof record !== "object" || record === null) return [];
  return Object.entries(record).filter((pair): pair is [string, string] => typeof pair[1] === "string");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
