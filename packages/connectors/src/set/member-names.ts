/**
 * Names in a set: `<member>.<name>`, of tools, prompts and resources alike. Runs on the host.
 *
 * - The first dot divides: no member's id has one. So no two things of a set can have one name, whatever the members
 *   call them.
 */
const SEPARATOR = ".";

export function nameInSet(member: string, name: string): string {
  return `${member}${SEPARATOR}${name}`;
}

/** Undefined if the name names no member. */
export function splitName(name: string): { readonly member: string; readonly own: string } | undefined {
  const at = name.indexOf(SEPARATOR);
  return at === -1 ? undefined : { member: name.slice(0, at), own: name.slice(at + SEPARATOR.length) };
}

/** What is wrong with the ids of a set's members. */
export function problemWithIds(ids: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (const id of ids) {
    if (typeof id !== "string" || id === "") return "one of its connectors has no id";
    if (id.includes(SEPARATOR))
      return `the id of its connector "${id}" has a dot, which divides members from their tools: rename it`;
    if (seen.has(id)) return `two of its connectors have the id "${id}", rename one`;
    seen.add(id);
  }
  return undefined;
}
