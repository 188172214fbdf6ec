/**
 * Runs on the host. The environment of a connector's programs, and the words in it that nobody may see.
 *
 * - A program has the variables that the connector declares, and a few that programs cannot do without. It has none of
 *   the host's others: they may be secrets.
 */

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

/** Texts that are replaced by the names of their variables. */
export class Concealed {
  readonly #names: readonly (readonly [text: string, name: string])[];

  private constructor(variables: readonly (readonly [name: string, value: string])[]) {
    this.#names = variables.flatMap(([name, value]) => formsOf(value).map((form) => [form, name] as const));
  }

  static ofSecrets(secrets: Variables): Concealed {
    return new Concealed(Object.entries(secrets));
  }

  /** For errors, which anybody may come to see: also plain variables that may be secrets. */
  static ofErrors(secrets: Variables, plain: Variables): Concealed {
    const likely = Object.entries(plain).filter(([, value]) => value.length >= SHORTEST_TOKEN);
    return new Concealed([...Object.entries(secrets), ...likely]);
  }

  /** The text without any of the texts. `isCut`: it begins in the middle of something, perhaps of one of them. */
  in(text: string, { isCut = false }: { readonly isCut?: boolean } = {}): string {
    const spans = this.#names.flatMap(([secret, name]) => spansOf(secret, name, text, isCut));
    spans.sort((a, b) => a.from - b.from || b.to - a.to);
    let shown = "";
    let end = 0;
    for (const { from, to, name } of spans) {
      if (from >= end) shown += `${text.slice(end, from)}[${name}]`;
      end = Math.max(end, to);
    }
    return shown + text.slice(end);
  }
}

interface Span {
  readonly from: number;
  to: number;
  readonly name: string;
}

/** Where the secret is. It may overlap with itself, and with others: then all of that is one span, or overlaps. */
function spansOf(secret: string, name: string, text: string, isCut: boolean): Span[] {
  const spans: Span[] = [];
  const rest = isCut ? restOf(secret, text) : 0;
  if (rest > 0) spans.push({ from: 0, to: rest, name });
  for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + 1)) {
    const last = spans.at(-1);
    if (last !== undefined && at < last.to) last.to = at + secret.length;
    else spans.push({ from: at, to: at + secret.length, name });
  }
  return spans;
}

/** How much of the end of the secret the text begins with. */
function restOf(secret: string, text: string): number {
  for (let from = 1; from < secret.length; from++) {
    if (text.startsWith(secret.slice(from))) return secret.length - from;
  }
  return 0;
}

/** A program may print a secret as it is, or in JSON. */
function formsOf(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  return [...new Set([value, inJson])].filter((form) => form !== "");
}
