/** Host check: what a host needs to have programs checked. A file of its own, since its types are public. */
import type { Checker } from "../../check/checker.ts";
import type { ToolDeclaration } from "../../check/declare-tools.ts";
import type { AnyTool } from "../../contract/tool.ts";

export interface HostCheck {
  /** It stays the caller's to close. */
  readonly checker: Checker;
  /** The declaration of a tool, asked for when a program names it; made from its schemas unless given. */
  readonly declare?: (
    name: string,
    tool: AnyTool,
  ) => string | ToolDeclaration | Promise<string | ToolDeclaration>;
  /** TypeScript declarations of what programs have beside `tools`: `declare const connectors: { … }`. */
  readonly globals?: string;
}
