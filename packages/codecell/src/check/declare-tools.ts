/**
 * Runs on the host. Asks for the declarations of the tools that a program names, or seems to mean, and of no others.
 *
 * A tool without a declaration takes and gives anything: a missing declaration is not an error of the program.
 */
import type { Declared, DeclaredTool } from "./messages.ts";

export interface ToolDeclaration {
  /** The tool as a member of the type of `tools`: `weather(input: { city: string }): Promise<{ degrees: number }>`. */
  readonly member: string;
  /** `type` and `interface` declarations of the types that the member names. */
  readonly types?: string;
  /** Whether the tool refuses arguments that its declaration does not list; default false. */
  readonly isClosed?: boolean;
}

/** Where the declarations of tools come from, on demand. */
export interface ToolDeclarations {
  /** Names of all tools. Called only when a program calls a tool that does not exist, to suggest the closest names. */
  readonly names: () => readonly string[];
  /** The tool's declaration, or its member alone; undefined when there is no such tool. */
  readonly of: (
    name: string,
  ) => string | ToolDeclaration | undefined | Promise<string | ToolDeclaration | undefined>;
}

export async function declareTools(
  { names, of }: ToolDeclarations,
  wanted: readonly string[],
  mostMs: number,
): Promise<Declared> {
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(resolve, mostMs, "late");
  const tools = await Promise.all(
    wanted.map(async (name): Promise<[string, DeclaredTool | undefined]> => {
      const found = await Promise.race([ask(of, name), late]);
      return [name, found === "late" ? toAnything(name) : found];
    }),
  );
  clearTimeout(timer);
  const isUnknown = tools.some(([, tool]) => tool === undefined);
  return { tools: new Map(tools), names: isUnknown ? names() : [] };
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

/** The declaration of a tool of which only the name is known. */
export function toAnything(name: string): DeclaredTool {
  return { member: `${JSON.stringify(name)}(input?: any): Promise<any>`, types: "", isClosed: false };
}
