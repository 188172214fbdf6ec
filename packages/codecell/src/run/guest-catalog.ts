/**
 * GuestCatalog: what a program of the catalog profile is given of a catalog that stays on the host.
 *
 * - Only what the program can ask for crosses, so that one with thousands of tools starts and suspends like one with ten.
 *   What it can ask for is read off its text, which is not parsed here: where that leaves a doubt, everything crosses.
 */
import type { Ledger } from "../contract/ledger.ts";

export interface GuestCatalog {
  /** Convenience names: `tools.<name>`, each a tool of the run under the same name. */
  readonly names: ReadonlySet<string>;
  /** What `ALL_TOOLS` holds, as JSON text. */
  readonly allTools: () => string;
}

export function globalsFor(
  source: string,
  { names, allTools }: GuestCatalog,
): Pick<Ledger, "toolNames" | "allTools"> {
  const isUnsure = UNSURE.some((word) => source.includes(word));
  const asked = isUnsure ? undefined : namesAsked(source, names);
  return {
    toolNames: asked ?? [...names],
    allTools: isUnsure || source.includes("ALL_TOOLS") ? allTools() : "",
  };
}

/** With these a program can reach a global that its text does not name. */
const UNSURE = ["globalThis", "this", "\\u"];

const TOOLS = "tools";

/** The names that follow `tools.`; undefined when `tools` is used in any other way. */
function namesAsked(source: string, names: ReadonlySet<string>): string[] | undefined {
  const asked = new Set<string>();
  for (let at = source.indexOf(TOOLS); at !== -1; at = source.indexOf(TOOLS, at + 1)) {
    let next = at + TOOLS.length;
    if (isWordPart(source.charCodeAt(at - 1)) || isWordPart(source.charCodeAt(next))) continue;
    next = skipSpace(source, next);
    if (source.charAt(next) === "?") next++;
    if (source.charAt(next) !== ".") return undefined;
    const from = skipSpace(source, next + 1);
    let to = from;
    while (isWordPart(source.charCodeAt(to))) to++;
    // Anything else than a name, or more of it: a comment, an index, letters of other scripts and what only looks like them.
    if (to === from || source.charCodeAt(to) > 127) return undefined;
    const name = source.slice(from, to);
    if (names.has(name)) asked.add(name);
  }
  return [...asked];
}

/** For sure: letters, digits, `_` and `$` of ASCII. */
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
