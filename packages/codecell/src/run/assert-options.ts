/** Refuses options of the wrong kind: misuse by the host programmer throws. */
import { type Ledger, YIELD_CONTROL } from "../contract/ledger.ts";
import type { Resolutions } from "../contract/result.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { SuspendedRun } from "../suspend/suspended-run.ts";
import type { StartOptions } from "./host.ts";
import { assertPending } from "./resolutions.ts";

type Purpose = "start" | "resume" | "fork";

export function assertVersion({ version }: Ledger, purpose: string): void {
  if (version !== 1) {
    throw new TypeError(`Cannot ${purpose} a ledger of version ${String(version)}: only 1 is known`);
  }
}

export function assertStart({ source, language, tools = {}, scope, mayYield }: StartOptions): void {
  if (typeof source !== "string") throw new TypeError("Cannot start a run: source must be a string");
  if (language !== undefined && language !== "javascript" && language !== "typescript") {
    throw new TypeError(`Cannot start a run: no such language "${String(language)}"`);
  }
  if (mayYield !== undefined && typeof mayYield !== "boolean") {
    throw new TypeError("Cannot start a run: mayYield must be a boolean");
  }
  assertTools(tools, "start", mayYield);
  assertScope(scope, "start");
}

/** What a run is resumed with has to fit what it is. */
export function assertFits(held: SuspendedRun, tools: ToolSet, resolutions: Resolutions): void {
  assertTools(tools, "resume", held.ledger.mayYield);
  assertPending(held, resolutions);
}

export function assertTools(tools: ToolSet, purpose: Purpose, mayYield = false): void {
  for (const name of Object.keys(tools)) {
    if (typeof tools[name]?.execute !== "function") {
      throw new TypeError(`Cannot ${purpose} a run: tool "${name}" has no execute function`);
    }
    if (mayYield && name === YIELD_CONTROL) {
      throw new TypeError(
        `Cannot ${purpose} a run: its program may yield, so no tool can be named "${name}", rename the tool`,
      );
    }
  }
}

export function assertScope(scope: unknown, purpose: Purpose): void {
  if (scope !== undefined && typeof scope !== "string") {
    throw new TypeError(`Cannot ${purpose} a run: scope must be a string`);
  }
}
