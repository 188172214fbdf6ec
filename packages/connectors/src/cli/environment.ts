/**
 * Runs on the host. The environment of a connector's programs, and which of it nobody may see.
 *
 * - A program has the variables that the connector declares, and a few that programs cannot do without. It has none of
 *   the host's others: they may be secrets.
 */
import type { PlainSecrets } from "../secrets/door.ts";
import { isSecretName, textsOf } from "../secrets/secrets-of.ts";

/** Where programs, homes and temporary files are, and in which language and time zone to write. */
const BASE: readonly string[] = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TZ",
  "TMPDIR",
];

const BASE_OF_WINDOWS: readonly string[] = [
  "APPDATA",
  "LOCALAPPDATA",
  "PATHEXT",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "TMP",
  "USERPROFILE",
];

export type Variables = Readonly<Record<string, string>>;

export function toEnvironment(...declared: readonly Variables[]): Variables {
  const names = process.platform === "win32" ? [...BASE, ...BASE_OF_WINDOWS] : BASE;
  const base = names.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.assign(Object.fromEntries(base), ...declared) as Variables;
}

/** What is wrong with declared variables; undefined if nothing is. */
export function variablesProblem(variables: unknown): string | undefined {
  if (typeof variables !== "object" || variables === null || Array.isArray(variables))
    return "must be an object of texts";
  for (const [name, value] of Object.entries(variables) as [string, unknown][]) {
    if (name === "" || /[=\0]/u.test(name)) return "has a name that no variable can have";
    if (typeof value !== "string" || value.includes("\0"))
      return `has "${name}", which is no text without NUL`;
  }
  return undefined;
}

/** Values that are shorter are words such as `true` and `json`: a message without them says nothing. */
const SHORTEST_TOKEN = 8;

/** Secret variables, and plain ones that may be secrets. Each is replaced by its name. */
export function secretsOfVariables(secret: unknown, plain: unknown): PlainSecrets {
  const named = textsOf(plain).map(([name, text]) => ({ name, text }));
  return {
    certain: [
      ...textsOf(secret).map(([name, text]) => ({ name, text, isAnyLength: true })),
      ...named.filter(({ name }) => isSecretName(name)),
    ],
    likely: named.filter(({ text }) => text.length >= SHORTEST_TOKEN),
  };
}
