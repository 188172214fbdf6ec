/**
 * A convenience name is an identifier by which one catalogued tool and no other can be called: `tools.create_issue` for
 * `mcp:github:create-issue`. Runs anywhere.
 *
 * - A tool gets a convenience name only if no other tool would have the same one. Every tool can be called by its id.
 * - A convenience name never hides something else: helpers, reserved words, what objects inherit, `then`.
 */

import { reservedNames } from "../contract/features.ts";
import { toNormalForm } from "../value/normal-form.ts";

const WORDS =
  "arguments await break case catch class const continue debugger default delete do else enum eval export extends " +
  "false finally for function if implements import in instanceof interface let new null package private protected " +
  "public return static super switch this throw true try typeof undefined var void while with yield";

const RESERVED: ReadonlySet<string> = new Set([
  // What `tools` offers besides tools, and the names that calls of features are recorded under.
  ...reservedNames("tools"),
  ...WORDS.split(" "),
  ...Object.getOwnPropertyNames(Object.prototype),
  "prototype",
  "then",
  "toJSON",
]);

/** The name as an identifier; undefined if no character remains, or if the identifier is reserved. */
export function toConvenienceName(name: string): string | undefined {
  // Takes the name's parts: a pattern that looks for the end of a name would start again at each character.
  const joined = (toNormalForm(name, "NFC").match(/[\p{ID_Continue}$]+/gu) ?? []).join("_");
  const identifier = /^[\p{ID_Start}$_]/u.test(joined) ? joined : `_${joined}`;
  return joined === "" || RESERVED.has(joined) || RESERVED.has(identifier) ? undefined : identifier;
}

/** The ids by convenience name. */
export function resolveConvenienceNames(
  tools: Iterable<{ readonly id: string; readonly name: string }>,
): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  const ambiguous = new Set<string>();
  for (const { id, name } of tools) {
    const convenience = toConvenienceName(name);
    if (convenience === undefined) continue;
    if (ids.has(convenience)) ambiguous.add(convenience);
    else ids.set(convenience, id);
  }
  for (const name of ambiguous) ids.delete(name);
  return ids;
}
