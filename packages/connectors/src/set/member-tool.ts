/**
 * A tool of a member as a tool of its set. Runs on the host.
 *
 * - A set may be trusted because of another member: of one that is not trusted no hint is passed on that permits a call
 *   to be repeated. That a tool destroys something is passed on, whoever says so.
 * - What the member's card says for choosing stays with the tool: the set has a card of its own.
 */
import type { BackendTool, Connector } from "../contract/connector.ts";
import { nameInSet } from "./member-names.ts";

export function memberTool({ id, card, isTrusted }: Connector, tool: BackendTool): BackendTool {
  const { title, description = card.description, useWhen = card.useWhen, avoidWhen = card.avoidWhen } = tool;
  const { tags = [], readOnlyHint, idempotentHint, destructiveHint } = tool;
  const said = {
    title,
    description,
    useWhen,
    avoidWhen,
    tags: [...new Set([...tags, ...(card.tags ?? []), card.name])],
    readOnlyHint: isTrusted ? readOnlyHint : undefined,
    idempotentHint: isTrusted ? idempotentHint : undefined,
    destructiveHint,
  };
  const known = Object.entries(said).filter(([, value]) => value !== undefined);
  const own = { name: nameInSet(id, tool.name), ...Object.fromEntries(known) };
  // Reading the schemas of a thousand tools takes seconds, and a program uses a few.
  for (const key of ["inputSchema", "outputSchema"] as const) {
    if (key in tool) Object.defineProperty(own, key, { enumerable: true, get: () => tool[key] });
  }
  return Object.freeze(own);
}
