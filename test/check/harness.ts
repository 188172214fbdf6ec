/** Runs in tests. The tools, handles and the warm compiler with which programs are checked. */
import type { Language } from "../../packages/codecell/src/contract/ledger.ts";
import { checkProgram } from "../../packages/codecell/src/check/check-program.ts";
import { Compiler } from "../../packages/codecell/src/check/compiler.ts";
import { declareTools, type ToolDeclaration } from "../../packages/codecell/src/check/declare-tools.ts";
import { loadTypeScript, TYPESCRIPT_PACKAGES } from "../../packages/codecell/src/check/load-typescript.ts";
import type { Findings } from "../../packages/codecell/src/check/messages.ts";

const TOOLS: Readonly<Record<string, string | ToolDeclaration>> = {
  weather:
    "/** By city. */\nweather(input: { city: string; days?: number }): Promise<{ degrees: number; sky: string[] }>",
  list_orders: 'list_orders(input?: { status?: "late" | "lost" }): Promise<{ id: string; total: number }[]>',
  refund: {
    member: "refund(input: { order: Order; amount: number }): Promise<{ receipt: string }>",
    types: "interface Order { id: string; line: number; note?: string }",
    isClosed: true,
  },
  notify: {
    member: "notify(input: Order): Promise<void>",
    types: 'type Order = { kind: "mail"; to: string } | { kind: "text"; number: string };',
  },
  echo: "echo(input: unknown): Promise<unknown>",
  anything: "anything(input?: any): Promise<any>",
  open: "open(input: { id: string; [key: string]: unknown }): Promise<string>",
  is_late: "is_late(input: { id: string }): Promise<boolean>",
  "my-tool": '"my-tool"(input: { a: number }): Promise<number>',
  pair: "pair<Value>(input: { left: Value; right: Value }): Promise<Value>",
  many: "many(input: { id: string }): Promise<1>; many(input: { name: string }): Promise<2>",
  rows: "rows(input: { items: { id: string }[] }): Promise<string[]>",
  nullable: "nullable(input: { id: string | undefined; any: any }): Promise<null>",
  broken: "broken(input: {{{",
  escape:
    "escape(input: { a: 1 }): Promise<1> } } declare const tools: string; declare namespace X { interface Y {",
};

const GLOBALS = `
interface Handle { readonly id: string; tools(page?: { limit?: number }): Promise<{ items: { name: string }[] }>; callTool(name: string, args?: object): Promise<{ ok: boolean; data?: any }>; }
declare const connectors: { github: Handle; "a-b": Handle; debug: { readLogs(input: object): Promise<unknown> } };
declare const open_handles: { [id: string]: Handle };
declare function yield_control(reason?: string): Promise<void>;
`;

let compiler: Compiler | undefined;

export function check(source: string, language: Language = "typescript"): Promise<Findings> {
  const declarations = {
    names: () => Object.keys(TOOLS),
    of: (name: string) => (Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined),
  };
  compiler ??= new Compiler(loadTypeScript(TYPESCRIPT_PACKAGES, [import.meta.dirname]));
  return checkProgram(compiler, { kind: "check", id: 1, source, language, globals: GLOBALS }, (names) =>
    declareTools(declarations, names, 1000),
  );
}

export const FENCE = "```";
