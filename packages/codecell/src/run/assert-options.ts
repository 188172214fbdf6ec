/** Refuses options of the wrong kind: misuse by the host programmer throws. */
import type { Ledger } from "../contract/ledger.ts";
import type { ToolSet } from "../contract/tool.ts";

export function assertVersion({ version }: Ledger, purpose: string): void {
  if (version !== 1) {
    throw new TypeError(`Cannot ${purpose} a ledger of version ${String(version)}: only 1 is known`);
  }
}

export function assertTools(tools: ToolSet, purpose: "start" | "resume" | "fork"): void {
  for (const name of Object.keys(tools)) {
    if (typeof tools[name]?.execute !== "function") {
      throw new TypeError(`Cannot ${purpose} a run: tool "${name}" has no execute function`);
    }
  }
}

export function assertScope(scope: unknown, purpose: "start" | "resume"): void {
  if (scope !== undefined && typeof scope !== "string") {
    throw new TypeError(`Cannot ${purpose} a run: scope must be a string`);
  }
}
