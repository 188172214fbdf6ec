/**
 * Runs in the check's thread. A linked program is the model's program together with the declarations of what it may
 * call.
 *
 * - The program is the body of one async function in a file of its own; offsets map back to the model's text.
 * - Each tool is declared in a namespace of its own, so that the types of two tools never clash. If a declaration
 *   does not parse as exactly one namespace, its tool takes and gives anything.
 */
import type ts from "@typescript/typescript6";
import type { Language } from "../contract/ledger.ts";
import type { TypedSource } from "../source/prepare.ts";
import type { Compiler } from "./compiler.ts";
import { toAnything } from "./declare-tools.ts";
import type { TypeScript } from "./load-typescript.ts";
import type { Declared, DeclaredTool } from "./messages.ts";

export interface LinkedProgram {
  readonly ts: TypeScript;
  readonly program: ts.Program;
  readonly checker: ts.TypeChecker;
  readonly file: ts.SourceFile;
  /** The function whose body is the model's program. */
  readonly main: ts.FunctionDeclaration;
  readonly declared: Declared;
  /** Whether the result is the value of the last expression; if that is not JSON, it is lost and not refused. */
  readonly isResultImplied: boolean;
}

export const TOOLS_FILE = "/tools.d.ts";
/** The folder of the files that declare single tools. */
export const TOOL_FILES = "/tools/";
export const GLOBALS_FILE = "/globals.d.ts";
const OTHERS = " [name: string]: any ";
const OPEN = "async function __program() {\n";

export interface ProgramFile {
  readonly file: ts.SourceFile;
  readonly main: ts.FunctionDeclaration;
}

/** Undefined when the compiler reads the text in another way than `source/`: then the check says nothing about it. */
export function parseProgram(
  compiler: Compiler,
  { body }: TypedSource,
  language: Language,
): ProgramFile | undefined {
  const name = language === "typescript" ? "/program.ts" : "/program.js";
  const file = compiler.parse(name, `${OPEN}${body}}\nexport {};`);
  const [main, end, ...others] = file.statements;
  if (main === undefined || !compiler.ts.isFunctionDeclaration(main)) return undefined;
  if (end === undefined || others.length > 0 || hasErrors(file)) return undefined;
  return { file, main };
}

/** Converts an offset in the program's file to an offset in its body. */
export function toBodyOffset(offset: number): number {
  return Math.max(0, offset - OPEN.length);
}

interface LinkOptions {
  readonly globals: string;
  /** Whether more tools may exist than the declared ones. */
  readonly isOpen: boolean;
  readonly isResultImplied: boolean;
}

export function linkProgram(
  compiler: Compiler,
  { file, main }: ProgramFile,
  declared: Declared,
  { globals, isOpen, isResultImplied }: LinkOptions,
): LinkedProgram {
  const tools = [...declared.tools].flatMap(([name, tool]) => (tool === undefined ? [] : [{ name, tool }]));
  const files = tools.map(({ name, tool }) => toolFile(compiler, name, tool));
  const parents = tools.map(({ name }) => `${namespaceOf(name)}.Members`);
  const heritage = parents.length === 0 ? "" : ` extends ${parents.join(", ")}`;
  const root = compiler.parseKept(
    TOOLS_FILE,
    `interface Tools${heritage} {${isOpen ? OTHERS : ""}}\ndeclare const tools: Tools;`,
  );
  const others = compiler.parseKept(GLOBALS_FILE, globals);
  const program = compiler.link([
    file,
    ...files,
    root,
    hasErrors(others) ? compiler.parse(GLOBALS_FILE, "") : others,
  ]);
  return {
    ts: compiler.ts,
    program,
    checker: program.getTypeChecker(),
    file,
    main,
    declared,
    isResultImplied,
  };
}

function toolFile(compiler: Compiler, name: string, tool: DeclaredTool): ts.SourceFile {
  const path = `${TOOL_FILES}${namespaceOf(name)}.d.ts`;
  const file = compiler.parseKept(path, renderTool(name, tool));
  if (file.statements.length === 1 && !hasErrors(file)) return file;
  return compiler.parse(path, renderTool(name, toAnything(name)));
}

function renderTool(name: string, { member, types }: DeclaredTool): string {
  return `declare namespace ${namespaceOf(name)} {\n${types}\ninterface Members {\n${member}\n}\n}`;
}

/** An identifier that is different for every name. */
function namespaceOf(name: string): string {
  return `Tool_${Buffer.from(name).toString("hex")}`;
}

function hasErrors(file: ts.SourceFile): boolean {
  // The compiler's public way to these errors needs a whole program.
  const { parseDiagnostics } = file as ts.SourceFile & { readonly parseDiagnostics?: readonly unknown[] };
  return (parseDiagnostics?.length ?? 0) > 0;
}
