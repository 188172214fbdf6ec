/**
 * CellStart: what the command that started a cell says of its program: what the program has beside its tools, and what
 * makes the cell the one it is.
 */
import type { Command } from "../protocol/messages.ts";
import { BEHIND_TOOL_NAMES, FETCH_TOOL, YIELD_CONTROL } from "../contract/ledger.ts";
import { START_FLAGS } from "../guest/abi.ts";
import { callRefusal } from "./cell-failures.ts";
import type { GuestStart } from "./vm.ts";

export type StartCommand = Extract<Command, { type: "start" }>;

export function toGuestStart(command: StartCommand): GuestStart {
  const { seed, toolNames, mayYield, fetch, detachedCalls, allTools } = command;
  const flags =
    (mayYield === true ? START_FLAGS.mayYield : 0) |
    (fetch === true ? START_FLAGS.fetch : 0) |
    (detachedCalls === "fail" ? START_FLAGS.detachedFails : 0);
  return { seed, toolNames, flags, allTools };
}

/** What makes a cell the one it is: a snapshot of another fits nowhere. */
export function originOf(command: StartCommand): string {
  const { source, language, clock } = command;
  return JSON.stringify([source, language, clock, toGuestStart(command)]);
}

/** Why the program may not call something by this name, for the guest; undefined when it may. */
export function nameRefusal(
  { mayYield, fetch, allTools }: StartCommand,
  name: string | number,
): string | undefined {
  // Recorded, it would be a yield.
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
