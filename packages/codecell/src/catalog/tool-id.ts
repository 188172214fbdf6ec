/**
 * Ids of catalogued tools: `<kind>:<owner>:<tool>`, for example `mcp:github:create_issue`. Runs anywhere.
 *
 * - An id depends on what the tool is, never on its place in a list: equal tools have equal ids.
 * - Different tools have different ids: characters that would read as a separator or a pattern are escaped.
 */

const KIND = /^[a-z][a-z\d-]*$/u;
/** The characters of separators, patterns and escapes. */
const SIGNS = /[%:*]/gu;
/** Characters that nobody can see or type. */
const UNSEEN = /[\p{C}\p{Z}]/gu;
/** As `escape` makes them: one half of a character, or whole characters. */
const ESCAPES = /%u([\dA-F]{4})|(?:%[\dA-F]{2})+/gu;

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

/** The names that an id was made of; undefined for a text that is no id. */
export function fromToolId(
  id: string,
): { readonly kind: string; readonly owner: string; readonly tool: string } | undefined {
  const [kind = "", owner = "", tool = "", ...rest] = id.split(":");
  if (!KIND.test(kind) || owner === "" || tool === "" || rest.length > 0) return undefined;
  try {
    return { kind, owner: unescape(owner), tool: unescape(tool) };
  } catch {
    // Escapes that no id has.
    return undefined;
  }
}

function unescape(text: string): string {
  return text.replaceAll(ESCAPES, (escapes, half?: string) =>
    half === undefined ? decodeURIComponent(escapes) : String.fromCharCode(Number.parseInt(half, 16)),
  );
}

function escape(text: string): string {
  return escapeUnseen(text.replaceAll(SIGNS, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`));
}

/** Escapes invisible characters as ids do; also for text that is compared with ids. */
export function escapeUnseen(text: string): string {
  return text.replaceAll(UNSEEN, (character) =>
    character.isWellFormed()
      ? encodeURIComponent(character)
      : `%u${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
