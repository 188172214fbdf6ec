/** Given globals: what a start gives a program beside its tools, as the guest is told and as calls are told apart. */
import type { Command } from "../bridge/protocol.ts";
import { BEHIND_TOOL_NAMES, FETCH_TOOL, YIELD_CONTROL } from "../contract/ledger.ts";
import { START_FLAGS } from "../guest/abi.ts";
import { callRefusal } from "./cell-failures.ts";

type Given = Pick<Extract<Command, { type: "start" }>, "mayYield" | "fetch" | "allTools">;

export function flagsOf({ mayYield, fetch }: Given): number {
  return (mayYield === true ? START_FLAGS.mayYield : 0) | (fetch === true ? START_FLAGS.fetch : 0);
}

/** Refuses names under which the calls of a global are recorded: as calls of tools they would pass for those. */
export function unknownRefusal(
  name: string | number,
  { mayYield, fetch, allTools }: Given,
): string | undefined {
  if (name === YIELD_CONTROL && mayYield === true) {
    const message = `Cannot call tool "${name}": no such tool, it is a function of its own: await ${name}()`;
    return callRefusal("unknown_tool", message);
  }
  if (name === FETCH_TOOL && fetch === true) {
    const message = `Cannot call tool "${name}": no such tool, it is a function of its own: await fetch(url)`;
    return callRefusal("unknown_tool", message);
  }
  // What helpers ask for is no tool, and has no name in a program.
  if (allTools !== undefined && BEHIND_TOOL_NAMES.includes(String(name))) {
    return callRefusal("unknown_tool", `Cannot call tool "${name}": no such tool, see ALL_TOOLS`);
  }
  return undefined;
}
