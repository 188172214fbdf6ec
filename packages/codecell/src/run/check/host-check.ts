/**
 * Runs on the host. Host check: what a host needs to check programs. It has a file of its own, because its types are
 * public.
 */
import type { Checker } from "../../check/checker.ts";
import type { ToolDeclaration } from "../../check/declare-tools.ts";
import type { AnyTool } from "../../contract/tool.ts";

export interface HostCheck {
  /** The caller closes it. */
  readonly checker: Checker;
  /** The declaration of a tool, asked for when a program names the tool. Default: made from the tool's schemas. */
  readonly declare?: (
    name: string,
    tool: AnyTool,
  ) => string | ToolDeclaration | Promise<string | ToolDeclaration>;
  /** TypeScript declarations of the globals that programs have beside `tools`: `declare const connectors: { … }`. */
  readonly globals?: string;
}
