/**
 * Policy: decides which tools are catalogued. Runs anywhere.
 *
 * - A pattern with colons is compared with a tool's id, part by part; a pattern without colons is compared with the
 *   tool's name. `*` stands for any characters within a part: `mcp:github:*`, `mcp:*:delete_*`, `send_*`.
 * - Deny wins over allow. A deny pattern also matches the name by which programs would call the tool: `delete_user` and
 *   `mcp:*:delete_*` also deny `delete-user`. An allow list allows only the tools that it matches; an empty list allows
 *   nothing.
 * - A pattern that cannot match anything is refused: a deny pattern that silently matches nothing would let tools
 *   through.
 */

import { isRecord } from "../value/shape.ts";
import { toConvenienceName } from "./convenience-names.ts";
import { escapeUnseen } from "./tool-id.ts";

export interface CatalogPolicy {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}

interface RuledTool {
  readonly id: string;
  readonly name: string;
}

export type ToolRule = (tool: RuledTool) => boolean;

/** The first part of a pattern must be able to match a kind. */
const KIND_PATTERN = /^[a-z*][a-z\d*-]*$/u;

export function createPolicy(policy: CatalogPolicy): ToolRule {
  assertPolicy(policy);
  const { allow, deny = [] } = policy;
  const allowed = allow?.map((pattern) => toRule(pattern, () => undefined));
  const denied = deny.map((pattern) => toRule(pattern, ({ name }) => toConvenienceName(name)));
  return (tool) =>
    !denied.some((rule) => rule(tool)) && (allowed === undefined || allowed.some((rule) => rule(tool)));
}

/** A misread policy would let through what it should keep out. */
function assertPolicy(policy: unknown): asserts policy is CatalogPolicy {
  if (!isRecord(policy) || Array.isArray(policy)) {
    throw new TypeError("Cannot use the policy: expected an object with lists of patterns, { allow, deny }");
  }
  for (const [key, patterns] of Object.entries(policy)) {
    if (key !== "allow" && key !== "deny") {
      throw new TypeError(`Cannot use the policy: it has "${key}", a policy has allow and deny`);
    }
    if (patterns !== undefined && !Array.isArray(patterns)) {
      throw new TypeError(`Cannot use the policy: ${key} must be a list of patterns`);
    }
  }
}

/** `calledBy` gives a second name of the tool that the pattern may match. */
function toRule(pattern: string, calledBy: (tool: RuledTool) => string | undefined): ToolRule {
  if (typeof pattern !== "string" || pattern === "") {
    throw new TypeError("Cannot use an empty pattern in a policy: name a tool, or * for all");
  }
  const isCalled = (name: string, tool: RuledTool): boolean => {
    const called = calledBy(tool);
    return called !== undefined && matches(name, called);
  };
  if (!pattern.includes(":")) return (tool) => matches(pattern, tool.name) || isCalled(pattern, tool);
  const parts = escapeUnseen(pattern).split(":");
  if (parts.length !== 3 || parts.includes("") || !KIND_PATTERN.test(parts[0] ?? "")) {
    throw new TypeError(
      `Cannot use "${pattern}" in a policy: an id has three parts, <kind>:<owner>:<tool>, the kind in lower case, and * stands for any`,
    );
  }
  const [kind = "", owner = "", name = ""] = parts;
  return (tool) => {
    const [ofKind = "", ofOwner = "", ofTool = ""] = tool.id.split(":");
    return (
      matches(kind, ofKind) && matches(owner, ofOwner) && (matches(name, ofTool) || isCalled(name, tool))
    );
  };
}

/** Takes at most pattern length times text length steps, however many stars there are. */
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
