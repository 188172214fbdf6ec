/**
 * Convenience names: `tools.create_issue` for `mcp:github:create-issue`.
 *
 * - Given only where one tool and no other can be meant; all tools have their ids in any case.
 * - Never one that stands for something else: helpers, reserved words, what objects inherit, `then`.
 */

import { reservedNames } from "../contract/features.ts";
import { toNormalForm } from "../value/normal-form.ts";

const WORDS =
  "arguments await break case catch class const continue debugger default delete do else enum eval export extends " +
  "false finally for function if implements import in instanceof interface let new null package private protected " +
  "public return static super switch this throw true try typeof undefined var void while with yield";

const RESERVED: ReadonlySet<string> = new Set([
  // What `tools` itself offers beside tools, and what calls of features are recorded as.
  ...reservedNames("tools"),
  ...WORDS.split(" "),
  ...Object.getOwnPropertyNames(Object.prototype),
  "prototype",
  "then",
  "toJSON",
]);

/** The name as an identifier; undefined when nothing of it is left, or it is taken. */
export function toConvenienceName(name: string): string | undefined {
  // By its parts: a pattern that looks for the end of a name begins anew at each of its characters.
  const joined = (toNormalForm(name, "NFC").match(/[\p{ID_Continue}$]+/gu) ?? []).join("_");
  const identifier = /^[\p{ID_Start}$_]/u.test(joined) ? joined : `_${joined}`;
  return joined === "" || RESERVED.has(joined) || RESERVED.has(identifier) ? undefined : identifier;
}

/** The ids that have a convenience name, by that name. */
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
