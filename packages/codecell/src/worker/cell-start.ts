/**
 * Runs in a worker thread. Reads from a cell's start command what its program has beside its tools, and what identifies
 * the cell.
 */
import type { Command } from "../protocol/messages.ts";
import {
  BEHIND_CALLS,
  behindCall,
  FEATURE_NAMES,
  type FeatureSettings,
  LISTINGS,
} from "../contract/features.ts";
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

/** What identifies a cell: a snapshot with another origin does not fit. */
export function originOf(command: StartCommand): string {
  const { source, language, clock } = command;
  return JSON.stringify([source, language, clock, toGuestStart(command)]);
}

/** Why the program may not call something by this name, as text for the guest; undefined when it may. */
export function nameRefusal(features: FeatureSettings, name: string | number): string | undefined {
  const called = String(name);
  // In the ledger nobody could tell such a call from a call that the feature itself makes.
  const instead = behindCall(features, called)?.instead ?? absentHelper(features, called);
  if (instead === undefined) return undefined;
  return callRefusal("unknown_tool", `Cannot call tool "${name}": no such tool, ${instead}`);
}

/** In the catalog profile only tools have names. A helper has none, whether the program has the helper or not. */
function absentHelper({ catalog }: FeatureSettings, name: string): string | undefined {
  return catalog !== undefined && BEHIND_CALLS.has(name) ? `see ${[...LISTINGS].join(", ")}` : undefined;
}
