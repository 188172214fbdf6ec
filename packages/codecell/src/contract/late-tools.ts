/**
 * Runs anywhere. Late tools are found by their names when they are called: a backend may have thousands, and tomorrow
 * others.
 *
 * - A tool set says by itself how its late tools are found. Whoever looks for a tool asks `toolOf`.
 * - A tool that the set holds goes before a late tool of the same name.
 */
import type { AnyTool, ToolSet } from "./tool.ts";

/** Finds a tool by a name that no list has, at once; undefined if there can be no such tool. */
export type FindTool = (name: string) => AnyTool | undefined;

interface LateTools {
  readonly find: FindTool;
  readonly listed: ToolSet;
}

// Known by its name, so that a second copy of this package finds late tools too.
const LATE: unique symbol = Symbol.for("codecell.late-tools");

type WithLateTools = ToolSet & { readonly [LATE]?: LateTools };

/** The tools with further ones that `find` finds. `listed` are those that a message may name. */
export function withLateTools(tools: ToolSet, find: FindTool, listed: ToolSet = tools): ToolSet {
  const all: WithLateTools = { ...tools, [LATE]: { find, listed } };
  return all;
}

export function toolOf(tools: ToolSet, name: string): AnyTool | undefined {
  return Object.hasOwn(tools, name) ? tools[name] : (tools as WithLateTools)[LATE]?.find(name);
}

/** The tools that a program was told of. */
export function listedTools(tools: ToolSet): ToolSet {
  return (tools as WithLateTools)[LATE]?.listed ?? tools;
}
