/**
 * Policy: which tools are catalogued at all.
 *
 * - A pattern with colons is compared with a tool's id, part by part; one without with its name. `*` stands for any
 *   characters within a part: `mcp:github:*`, `mcp:*:delete_*`, `send_*`.
 * - What is denied is denied, whatever allows it. With an allow list only what it names is allowed; an empty one allows
 *   nothing.
 * - A pattern that cannot mean anything is refused: a deny that silently matches nothing would open a door. For the same
 *   reason a deny may be written with names as they are, where an id has them escaped; an allow has to name the id.
 */

export interface CatalogPolicy {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}

interface Named {
  readonly id: string;
  readonly name: string;
}

type Rule = (tool: Named) => boolean;

export function createPolicy({ allow, deny = [] }: CatalogPolicy): Rule {
  const allowed = allow?.map(toRule);
  const denied = deny.map(toRule);
  return (tool) => {
    const written = denied.length === 0 ? tool : asWritten(tool);
    if (denied.some((rule) => rule(tool) || rule(written))) return false;
    return allowed === undefined || allowed.some((rule) => rule(tool));
  };
}

/** Without escapes. Of a name with colons nothing else can be written than its id. */
function asWritten({ id, name }: Named): Named {
  const parts = id.split(":").map((part) => decodeURIComponent(part));
  return parts.some((part) => part.includes(":")) ? { id, name } : { id: parts.join(":"), name };
}

function toRule(pattern: string): Rule {
  if (typeof pattern !== "string" || pattern === "") {
    throw new TypeError("Cannot use an empty pattern in a policy: name a tool, or * for all");
  }
  if (!pattern.includes(":")) return ({ name }) => matches(pattern, name);
  const parts = pattern.split(":");
  if (parts.length !== 3 || parts.includes("")) {
    throw new TypeError(
      `Cannot use "${pattern}" in a policy: an id has three parts, <kind>:<owner>:<tool>, and * stands for any`,
    );
  }
  return ({ id }) => id.split(":").every((part, index) => matches(parts[index] ?? "", part));
}

/** In at most as many steps as both texts multiplied, whatever stars there are. */
function matches(pattern: string, text: string): boolean {
  let at = 0;
  let from = 0;
  let star = -1;
  let taken = 0;
  while (at < text.length) {
    if (from < pattern.length && pattern[from] === "*") {
      star = from++;
      taken = at;
    } else if (from < pattern.length && pattern[from] === text[at]) {
      from++;
      at++;
    } else if (star !== -1) {
      from = star + 1;
      at = ++taken;
    } else return false;
  }
  while (pattern[from] === "*") from++;
  return from === pattern.length;
}
