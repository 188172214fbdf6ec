/**
 * Runs on the host. Chooses what a program of the catalog profile gets of a catalog that stays on the host.
 *
 * - Only what the program can ask for crosses, so that a program with thousands of tools starts and suspends like a
 *   program with ten. What it can ask for is read from its text without parsing. In any doubt, everything crosses.
 */
import { LISTINGS } from "../../contract/features.ts";

/** A catalog that stays on the host, for programs of the catalog profile. */
export interface GuestCatalog {
  /** Convenience names: `tools.<name>`, each a tool of the run under the same name. */
  readonly names: ReadonlySet<string>;
  /** What `ALL_TOOLS` holds, as JSON text. */
  readonly allTools: () => string;
}

/** The part of a catalog that crosses to one program. */
export interface ShownCatalog {
  readonly toolNames: readonly string[];
  /** Empty if the program cannot ask for it. */
  readonly allTools: string;
}

export function globalsFor(source: string, { names, allTools }: GuestCatalog): ShownCatalog {
  const isUnsure = UNSURE.some((word) => source.includes(word)) || mayUseThis(source);
  const asked = isUnsure ? undefined : namesAsked(source, names);
  return {
    toolNames: asked ?? [...names],
    allTools: isUnsure || mayList(source) ? allTools() : "",
  };
}

function mayList(source: string): boolean {
  return LISTINGS.values().some((name) => source.includes(name));
}

/** With one of these a program can reach a global that its text does not name. */
const UNSURE = ["globalThis", "\\u"];

const THIS = "this";
const TOOLS = "tools";

/** Whether `this` may be the global object. It is not in `this.name`, nor in a comment or text such as "this thing". */
function mayUseThis(source: string): boolean {
  for (let at = source.indexOf(THIS); at !== -1; at = source.indexOf(THIS, at + 1)) {
    const next = at + THIS.length;
    if (isWordPart(source.charCodeAt(at - 1)) || isWordPart(source.charCodeAt(next))) continue;
    const isMember = source.charAt(next) === "." && isWordPart(source.charCodeAt(next + 1));
    if (!isMember && !isProse(source, at, next)) return true;
  }
  return false;
}

/** Words that code may have before a value on the same line. */
const BEFORE: ReadonlySet<string> = new Set(
  "as async await case const default delete do else extends export from get import in instanceof is keyof let new of readonly return satisfies set static throw type typeof using var void yield".split(
    " ",
  ),
);
/** Words that code may have behind a value on the same line. */
const BEHIND: ReadonlySet<string> = new Set(
  "as else extends from if implements in instanceof is of satisfies while".split(" "),
);

/** True only if it is certain: code never has two words in a row on one line, unless one of them is a keyword. */
function isProse(source: string, from: number, to: number): boolean {
  let end = from;
  while (isBlank(source.charCodeAt(end - 1))) end--;
  let start = end;
  while (isWordPart(source.charCodeAt(start - 1))) start--;
  const before = end < from ? source.slice(start, end) : "";
  // `while` follows `do <value>`, on this line or a later one.
  const behind = before === "do" ? wordAt(source, skipSpace(source, to)) : wordOnLine(source, to);
  return (before !== "" && !BEFORE.has(before)) || (behind !== "" && !BEHIND.has(behind));
}

function wordOnLine(source: string, from: number): string {
  let at = from;
  while (isBlank(source.charCodeAt(at))) at++;
  return at > from ? wordAt(source, at) : "";
}

function wordAt(source: string, from: number): string {
  let to = from;
  while (isWordPart(source.charCodeAt(to))) to++;
  return source.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

/** The names that follow `tools.`; undefined if `tools` is used in any other way. */
function namesAsked(source: string, names: ReadonlySet<string>): string[] | undefined {
  const asked = new Set<string>();
  for (let at = source.indexOf(TOOLS); at !== -1; at = source.indexOf(TOOLS, at + 1)) {
    let next = at + TOOLS.length;
    if (isWordPart(source.charCodeAt(at - 1)) || isWordPart(source.charCodeAt(next))) continue;
    if (isProse(source, at, next)) continue;
    next = skipSpace(source, next);
    if (source.charAt(next) === "?") next++;
    if (source.charAt(next) !== ".") return undefined;
    const from = skipSpace(source, next + 1);
    const name = wordAt(source, from);
    // Not a plain name, or only a part of a name: a comment, an index, or letters of other scripts, which may look like
    // ASCII.
    if (name === "" || source.charCodeAt(from + name.length) > 127) return undefined;
    if (names.has(name)) asked.add(name);
  }
  return [...asked];
}

/** Only letters, digits, `_` and `$` of ASCII. */
function isWordPart(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    code === 36
  );
}

function skipSpace(source: string, from: number): number {
  let at = from;
  while (source.charCodeAt(at) <= 32) at++;
  return at;
}
