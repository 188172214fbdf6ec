/**
 * Runs on the host. Says whether a tool can be used as its backend describes it.
 *
 * - A schema that is read when somebody needs it is not read for this: kinds that make such schemas bound them.
 */
import type { BackendTool } from "../contract/connector.ts";

/** An id with all characters escaped is still short enough for a call. */
export const LONGEST_TOOL_NAME = 256;
/** Describing a schema and validating by it takes a few milliseconds. */
const MOST_PARTS = 10_000;

/** Why nobody can call the tool; undefined if it can be called. */
export function problemOf(tool: BackendTool): string | undefined {
  for (const key of ["inputSchema", "outputSchema"] as const) {
    const own = Object.getOwnPropertyDescriptor(tool, key);
    if (own === undefined || !("value" in own) || own.value === undefined) continue;
    const problem = problemOfSchema(own.value);
    if (problem !== undefined) return `its ${key} ${problem}`;
  }
  return undefined;
}

function problemOfSchema(schema: unknown): string | undefined {
  if (typeof schema === "boolean") return undefined;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return "is no JSON Schema";
  const open: object[] = [schema];
  let parts = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const part of Object.values(next) as unknown[]) {
      if (++parts > MOST_PARTS) return `has more than ${MOST_PARTS} parts`;
      if (typeof part === "object" && part !== null) open.push(part);
    }
  }
  return undefined;
}
