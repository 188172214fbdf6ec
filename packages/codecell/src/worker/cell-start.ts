/**
 * CellStart: what the command that started a cell says of its program: what the program has beside its tools, and what
 * makes the cell the one it is.
 */
import type { Command } from "../protocol/messages.ts";
import { BEHIND_CALLS, behindCall, FEATURE_NAMES, type FeatureSettings } from "../contract/features.ts";
import { FEATURE_FLAGS } from "../guest/abi.ts";
import { callRefusal } from "./cell-failures.ts";
import type { GuestStart } from "./vm.ts";

export type StartCommand = Extract<Command, { type: "start" }>;

export function toGuestStart({ seed, toolNames, features }: StartCommand): GuestStart {
  let flags = 0;
  const texts: string[] = [];
  for (const name of FEATURE_NAMES) {
    const setting = features[name];
    if (setting === undefined) continue;
    flags |= FEATURE_FLAGS[name];
    if (typeof setting === "string") texts.push(setting);
  }
  return { seed, toolNames, flags, texts };
}

/** What makes a cell the one it is: a snapshot of another fits nowhere. */
export function originOf(command: StartCommand): string {
  const { source, language, clock } = command;
  return JSON.stringify([source, language, clock, toGuestStart(command)]);
}

/** Why the program may not call something by this name, for the guest; undefined when it may. */
export function nameRefusal(features: FeatureSettings, name: string | number): string | undefined {
  const called = String(name);
  // Recorded, it could not be told from what the feature itself calls.
  const instead = behindCall(features, called)?.instead ?? absentHelper(features, called);
  if (instead === undefined) return undefined;
  return callRefusal("unknown_tool", `Cannot call tool "${name}": no such tool, ${instead}`);
}

/** In the catalog profile nothing that is no tool has a name, whether the program has it or not. */
function absentHelper({ catalog }: FeatureSettings, name: string): string | undefined {
  return catalog !== undefined && BEHIND_CALLS.has(name) ? "see ALL_TOOLS" : undefined;
}
