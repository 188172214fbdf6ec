/**
 * Features: makes the settings of a program, and the tools that serve its features' calls, from the options of a run.
 * Runs on the host.
 *
 * - A run without features costs nothing here.
 */
import {
  BEHIND_CALLS,
  FEATURE_NAMES,
  type FeatureName,
  type FeatureSettings,
  type HostServedFeature,
  NO_FEATURES,
} from "../../contract/features.ts";
import { toolOf, withLateTools } from "../../contract/late-tools.ts";
import type { Limits } from "../../contract/limits.ts";
import type { ToolSet } from "../../contract/tool.ts";
import {
  type AnyOptions,
  FEATURE_OPTIONS,
  type FeatureOption,
  type ServedFeatureOption,
} from "./feature-options.ts";
import type { ShownCatalog } from "./guest-catalog.ts";
import type { StartOptions } from "./host-options.ts";

const OPTIONS: Readonly<Record<FeatureName, FeatureOption>> = FEATURE_OPTIONS;

const SERVED = FEATURE_NAMES.filter((name) =>
  [...BEHIND_CALLS.values()].some(({ feature, endedBy }) => feature === name && endedBy === "host"),
) as readonly HostServedFeature[];

const SERVED_OPTIONS: Readonly<Record<HostServedFeature, ServedFeatureOption>> = FEATURE_OPTIONS;

const NO_TOOLS: ToolSet = {};

type RunPurpose = "start" | "resume" | "fork";

/** Features whose options bring tools. */
const BRINGING = FEATURE_NAMES.filter((name) => OPTIONS[name].tools !== undefined);

const NEEDED_AGAIN = FEATURE_NAMES.filter(
  (name) => BRINGING.includes(name) || (SERVED as readonly FeatureName[]).includes(name),
);

/** A run that has begun takes only the options that serve calls. */
function takenFor(purpose: RunPurpose): readonly FeatureName[] {
  return purpose === "start" ? FEATURE_NAMES : NEEDED_AGAIN;
}

/**
 * The tools of a run: those that were given and those that its features bring. Thousands may have been given, so they are
 * not copied.
 */
export function toolsOfRun(options: AnyOptions): ToolSet {
  const { tools: given = NO_TOOLS } = options;
  let all = given;
  for (const name of BRINGING) {
    const brought = OPTIONS[name].tools?.(options);
    if (brought === undefined) continue;
    const taken = Object.keys(brought).find((one) => Object.hasOwn(given, one));
    if (taken !== undefined) {
      const { option } = OPTIONS[name];
      throw new TypeError(`Cannot use ${option}: no tool can be named "${taken}" beside it, rename the tool`);
    }
    const before = all;
    all = withLateTools(brought, (wanted) => toolOf(before, wanted) ?? toolOf(brought, wanted), given);
  }
  return all;
}

/** The names of the options that give features, or serve their calls. */
export function featureOptionNames(purpose: RunPurpose): Readonly<Record<string, true>> {
  return Object.fromEntries(takenFor(purpose).map((name) => [OPTIONS[name].option, true]));
}

/** Throws for options that are of the wrong kind. */
export function assertFeatures(options: AnyOptions, purpose: RunPurpose): void {
  for (const name of takenFor(purpose)) {
    const problem = OPTIONS[name].problem(options);
    if (problem !== undefined) throw new TypeError(`Cannot ${purpose} a run: ${problem}`);
  }
}

/** Whether the options give a program this feature, or serve its calls if the run has it already. */
export function isGiven(options: AnyOptions, name: FeatureName): boolean {
  return OPTIONS[name].isGiven(options);
}

/** `shown` is what the program gets of the catalog, if the options have one. */
export function toSettings(options: StartOptions, shown: ShownCatalog | undefined): FeatureSettings {
  let settings: Record<string, true | string> | undefined;
  for (const name of FEATURE_NAMES) {
    const { isGiven: isOn, text } = OPTIONS[name];
    if (isOn(options)) (settings ??= {})[name] = text === undefined ? true : text(options, shown);
  }
  return settings ?? NO_FEATURES;
}

/** Makes the tools that serve the calls of features, for the features that the options name. */
export type Serving = Partial<Record<HostServedFeature, (limits: Limits) => ToolSet>>;

const NO_SERVING: Serving = {};

/** Throws if an option cannot be read. */
export function resolveServing(options: AnyOptions): Serving {
  let serving: Serving | undefined;
  for (const name of SERVED) {
    const option = SERVED_OPTIONS[name];
    if (option.isGiven(options)) (serving ??= {})[name] = option.serve(options);
  }
  return serving ?? NO_SERVING;
}

/** The tools that serve the calls of a run's features, by the names of these calls. */
export function hostToolsOf(settings: FeatureSettings, serving: Serving, limits: Limits): ToolSet {
  if (settings === NO_FEATURES) return NO_TOOLS;
  const had = SERVED.filter((name) => settings[name] !== undefined);
  const sets = had.map((name) => (serving[name] ?? SERVED_OPTIONS[name].serve({}))(limits));
  return Object.assign({}, ...sets) as ToolSet;
}
