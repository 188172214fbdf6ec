/**
 * Runs anywhere. Derives what follows from the table of guest features.
 *
 * A run's settings are one value. It is made when the run starts, recorded in the ledger and passed on as a whole.
 */
import {
  type CallNames,
  type CallOfHost,
  type CallOfRun,
  FEATURE_TABLE,
  type GuestFeature,
} from "./feature-table.ts";
import { declareHandles, type HandleSetting } from "./handle-setting.ts";
import { declareWeb } from "./web-declarations.ts";

type Table = typeof FEATURE_TABLE;

/** Names of the features that not every program has. */
export type FeatureName = {
  [Name in keyof Table]: Table[Name]["setting"] extends "always" ? never : Name;
}[keyof Table];

/** The features that a run's program has beside its tools. A feature that is absent is off. */
export type FeatureSettings = {
  readonly [Name in FeatureName]?: Table[Name]["setting"] extends "text" ? string : true;
};

/** Features with calls that the host itself serves. */
export type HostServedFeature = {
  [Name in FeatureName]: "host" extends Table[Name]["calls"][number]["endedBy"] ? Name : never;
}[FeatureName];

/** The names under which calls behind the tools are recorded. */
export type BehindName = Table[keyof Table]["calls"][number]["name"];

/** The settings of a program that has its tools and nothing else. */
export const NO_FEATURES: FeatureSettings = Object.freeze({});

/** The name under which a fetch is recorded as a call. */
export const FETCH_TOOL: Extract<BehindName, "globalThis.fetch"> = "globalThis.fetch";

/** The names under which helpers of the catalog profile are recorded as calls. They are tools of the run. */
export const CATALOG_TOOLS = {
  search: "catalog.search",
  describe: "catalog.describe",
  load: "catalog.load",
} as const;

const FEATURES = Object.entries(FEATURE_TABLE) as [FeatureName, GuestFeature][];

/** Names of the features that can be on or off, in the order of the table. */
export const FEATURE_NAMES: readonly FeatureName[] = FEATURES.filter(
  ([, { setting }]) => setting !== "always",
).map(([name]) => name);

/** A call behind the tools, with its feature. */
export type BehindCall = CallNames &
  ((CallOfRun & { readonly feature: FeatureName }) | (CallOfHost & { readonly feature: HostServedFeature }));

/** All calls behind the tools, by the name under which they are recorded. */
export const BEHIND_CALLS: ReadonlyMap<string, BehindCall> = new Map(
  FEATURES.flatMap(([feature, { calls }]) =>
    calls.map((call) => [call.name, { ...call, feature } as BehindCall]),
  ),
);

const SETTINGS = new Map<string, GuestFeature["setting"]>(
  FEATURES.map(([name, { setting }]) => [name, setting]),
);

/** Whether a value can be the setting of a feature. False for an unknown feature. */
export function isSetting(name: string, value: unknown): boolean {
  const kind = SETTINGS.get(name);
  return (kind === "flag" && value === true) || (kind === "text" && typeof value === "string");
}

/** The call behind the tools with this name; undefined if a run with these settings has none. */
export function behindCall(settings: FeatureSettings, name: string): BehindCall | undefined {
  const call = BEHIND_CALLS.get(name);
  return call !== undefined && settings[call.feature] !== undefined ? call : undefined;
}

const CATALOG_PROFILE = FEATURES.filter(([, one]) => one.isCatalogProfile === true).map(([name]) => name);

/** Whether a program with these settings is in the catalog profile. */
export function hasCatalogProfile(settings: FeatureSettings): boolean {
  return CATALOG_PROFILE.some((name) => settings[name] !== undefined);
}

/** Whether the host itself serves calls of this name in a run with these settings. Elsewhere a tool may have the name. */
export function isHostServed(settings: FeatureSettings, name: string): boolean {
  return behindCall(settings, name)?.endedBy === "host";
}

/** A call by its name, and the settings of its run. */
export interface NamedCall {
  readonly features: FeatureSettings;
  readonly tool: string;
}

/** What a program called, in a message: a function that the host serves as the program writes it, or a tool by its name. */
export function calledAs({ features, tool }: NamedCall, noun: "tool" | "Tool" = "tool"): string {
  const call = behindCall(features, tool);
  return call?.endedBy === "host" ? call.shown : `${noun} "${tool}"`;
}

/** Names that features take in a namespace, for a program that has all features. */
export function reservedNames(namespace: string): readonly string[] {
  // A tool with the recorded name of such a call could not be told from the call.
  return [...FEATURES.flatMap(([, one]) => membersOf(one, namespace)), ...BEHIND_CALLS.keys()];
}

function membersOf({ namespaces }: GuestFeature, namespace: string): string[] {
  return Object.keys(namespaces[namespace] ?? {});
}

/** All globals that features bring, whether a program has them or not. */
export const FEATURE_GLOBALS: ReadonlySet<string> = new Set(FEATURES.flatMap(([, { globals }]) => globals));

/** Globals that list the names a program can call. */
export const LISTINGS: ReadonlySet<string> = new Set(FEATURES.flatMap(([, { listings }]) => listings));

/** TypeScript declarations of the globals of a program with these settings, without `tools`. */
export function declareFeatures(settings: FeatureSettings): string[] {
  const declared: string[] = [];
  for (const { declarations, globals, namespaces } of given(settings)) {
    if (declarations !== "") declared.push(declarations);
    for (const name of globals) {
      const members = namespaces[name];
      if (members !== undefined) {
        declared.push(`declare const ${name}: { ${Object.values(members).join("; ")} };`);
      }
    }
  }
  declared.push(...declareWeb({ web: settings.web !== undefined, fetch: settings.fetch !== undefined }));
  if (settings.connectors !== undefined) {
    const { root, handles } = JSON.parse(settings.connectors) as HandleSetting;
    declared.push(
      declareHandles(
        root,
        Object.keys(handles).map((id) => ({ id, hint: "" })),
      ),
    );
  }
  return declared;
}

/** Declarations of the functions that features put into a namespace, by their names. */
export function declareMembers(settings: FeatureSettings, namespace: string): ReadonlyMap<string, string> {
  return new Map(given(settings).flatMap(({ namespaces }) => Object.entries(namespaces[namespace] ?? {})));
}

function given(settings: FeatureSettings): GuestFeature[] {
  return FEATURES.filter(([name]) => settings[name] !== undefined).map(([, feature]) => feature);
}
