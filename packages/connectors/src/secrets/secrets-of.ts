/**
 * Runs on the host. Finds what is secret among the plain texts of a configuration: by the names under which it stands.
 */

/** The names of headers, variables and options whose values are secrets. */
const SECRET_NAME =
  /auth|bearer|cookie|credential|(?:^|[_-])(?:key|pat|pwd|pw|sig)(?:$|[_-])|api-?_?key|pass(?:word|phrase|wd)|private|secret|session|signature|token/iu;
/** A shorter part of a path is a word such as the name of a collection. */
const SHORTEST_SEGMENT = 20;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** A value of a header, and what of it is the secret itself: behind its scheme, or in its pairs. */
function secretsOfHeader(value: string): readonly string[] {
  const behindScheme = value.slice(value.indexOf(" ") + 1);
  const pairs = value.split(";").flatMap((pair) => pair.split("=").slice(1).join("=").trim());
  return [...new Set([value, behindScheme, ...pairs])];
}

/** The secrets among headers, by their names. */
export function secretsOfHeaders(headers: Readonly<Record<string, string>> = {}): readonly string[] {
  return textsOf(headers)
    .filter(([name]) => isSecretName(name) || /key/iu.test(name))
    .flatMap(([, value]) => secretsOfHeader(value));
}

/** What of a URL is no address: its user, its query and, if the whole URL was a secret, long parts of its path. */
export function secretsOfUrl(text: string, isSecret: boolean): readonly string[] {
  const url = URL.parse(text);
  if (url === null) return isSecret ? [text] : [];
  const { username, password, pathname, searchParams } = url;
  const segments = isSecret ? pathname.split("/").filter((one) => one.length >= SHORTEST_SEGMENT) : [];
  return [decoded(username), decoded(password), ...searchParams.values(), ...segments];
}

/** The secrets among arguments: `--token=x`, `--token x`. */
export function secretsOfArguments(args: unknown): readonly string[] {
  if (!Array.isArray(args)) return [];
  return args.flatMap((one: unknown, at) => {
    if (typeof one !== "string") return [];
    const [name = "", ...value] = one.split("=");
    if (value.length > 0 && isSecretName(name)) return [value.join("=")];
    const before: unknown = args[at - 1];
    const isValue = typeof before === "string" && /^--?[^=]+$/u.test(before) && isSecretName(before);
    return isValue && !one.startsWith("-") ? [one] : [];
  });
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
