/**
 * Ids of catalogued tools: `<kind>:<owner>:<tool>`, like `mcp:github:create_issue`.
 *
 * - Made of what a tool is, never of where it stands in a list: equal tools have equal ids.
 * - Different tools have different ids: what would read as a separator or a pattern is escaped.
 */

const KIND = /^[a-z][a-z\d-]*$/u;
/** Separators, signs of patterns and of escapes. */
const SIGNS = /[%:*]/gu;
/** What nobody can see or type. */
const UNSEEN = /[\p{C}\p{Z}]/gu;

export function toToolId(kind: string, owner: string, tool: string): string {
  if (!KIND.test(kind)) {
    throw new TypeError(
      `Cannot catalog tools of kind "${kind}": a kind is lower-case letters, digits and hyphens`,
    );
  }
  if (owner === "" || tool === "") {
    throw new TypeError(`Cannot catalog tool "${tool}" of ${kind} "${owner}": both need a name`);
  }
  return `${kind}:${escape(owner)}:${escape(tool)}`;
}

function escape(text: string): string {
  return escapeUnseen(text.replaceAll(SIGNS, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`));
}

/** As ids have it; also for what is compared with them. */
export function escapeUnseen(text: string): string {
  return text.replaceAll(UNSEEN, (character) =>
    character.isWellFormed()
      ? encodeURIComponent(character)
      : `%u${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
