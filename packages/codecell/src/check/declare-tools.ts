/**
 * Declare tools: asks for the declarations of the tools a program names, and of no others.
 *
 * - A tool whose declaration cannot be had takes and gives anything: not knowing is no error of the program.
 */
import { closestNames } from "../bridge/closest-names.ts";
import { isTurnLong, nextTurn } from "../bridge/turn.ts";
import type { DeclaredTool } from "./messages.ts";

export interface ToolDeclaration {
  /** The tool as a member of the type of `tools`: `weather(input: { city: string }): Promise<{ degrees: number }>`. */
  readonly member: string;
  /** `type` and `interface` declarations of what the member names. */
  readonly types?: string;
  /** Whether the tool refuses arguments its declaration does not list; false unless said otherwise. */
  readonly isClosed?: boolean;
}

/** Where the declarations of tools come from, on demand. */
export interface ToolDeclarations {
  /** All names there are; asked only when a program calls a tool that does not exist, for the closest ones. */
  readonly names: () => readonly string[];
  /** A declaration, or its member alone; undefined when there is no such tool. */
  readonly of: (
    name: string,
  ) => string | ToolDeclaration | undefined | Promise<string | ToolDeclaration | undefined>;
}

/** Names whose closest ones are looked up: a program that has more wrong will be written anew. */
const MOST_CLOSEST = 8;

export async function declareTools(
  { names, of }: ToolDeclarations,
  wanted: readonly string[],
  mostMs: number,
): Promise<ReadonlyMap<string, DeclaredTool>> {
  const declared = new Map<string, DeclaredTool>();
  const unknown: string[] = [];
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(resolve, mostMs, "late");
  await Promise.all(
    wanted.map(async (name) => {
      const found = await Promise.race([ask(of, name), late]);
      if (found === undefined) unknown.push(name);
      else declared.set(name, found === "late" ? toAnything(name) : found);
    }),
  );
  clearTimeout(timer);
  for (const [index, name] of unknown.entries()) {
    while (isTurnLong()) await nextTurn();
    declared.set(name, { closest: index < MOST_CLOSEST ? closestNames(name, names()) : [] });
  }
  return declared;
}

async function ask(of: ToolDeclarations["of"], name: string): Promise<DeclaredTool | undefined> {
  try {
    const found = await of(name);
    if (found === undefined) return undefined;
    const { member, types = "", isClosed = false } = typeof found === "string" ? { member: found } : found;
    return { member, types, isClosed };
  } catch {
    return toAnything(name);
  }
}

function toAnything(name: string): DeclaredTool {
  return { member: `${JSON.stringify(name)}(input?: any): Promise<any>`, types: "", isClosed: false };
}
