/**
 * FeatureOptions: how a host gives features to programs, one entry per feature of contract/feature-table.ts. Runs on
 * the host.
 *
 * - An entry knows the feature's option. If the host itself serves the feature's calls, the entry makes the tools that
 *   do.
 * - Whether a program has a feature is decided when its run starts, and recorded. What serves the feature is each
 *   host's own.
 */
import { FETCH_TOOL, type FeatureName, type HostServedFeature } from "../../contract/features.ts";
import type { Limits } from "../../contract/limits.ts";
import type { ToolSet } from "../../contract/tool.ts";
import { createFetchTool } from "../../fetch/fetch-tool.ts";
import { resolveFetchPolicy } from "../../fetch/policy.ts";
import { isRecord } from "../../value/shape.ts";
import { isHandles } from "./connector-handles.ts";
import type { ShownCatalog } from "./guest-catalog.ts";
import type { RunOptions, StartOptions } from "./host-options.ts";

/** Options of a run that is started or taken up again. */
export type AnyOptions = RunOptions & Partial<StartOptions>;

/** The options of a run that give features to its program. */
export type OptionOfFeature =
  | "catalog"
  | "connectors"
  | "detachedCalls"
  | "mayYield"
  | "fetchPolicy"
  | "webGlobals";

export interface FeatureOption {
  readonly option: OptionOfFeature;
  /** What is wrong with the option; undefined if nothing is. */
  readonly problem: (options: AnyOptions) => string | undefined;
  readonly isGiven: (options: AnyOptions) => boolean;
  /** For a feature whose setting is a text. */
  readonly text?: (options: StartOptions, shown: ShownCatalog | undefined) => string;
  /** The tools that end the calls of the feature, if the option brings them. Then a resumed run needs the option again. */
  readonly tools?: (options: AnyOptions) => ToolSet | undefined;
}

export interface ServedFeatureOption extends FeatureOption {
  /**
   * Reads the option before the run begins, which may throw. Then makes the tools that serve the calls, by their names.
   * A run may be taken up without the option: then its calls are refused.
   */
  readonly serve: (options: AnyOptions) => (limits: Limits) => ToolSet;
}

type FeatureOptions = {
  readonly [Name in FeatureName]: Name extends HostServedFeature ? ServedFeatureOption : FeatureOption;
};

export const FEATURE_OPTIONS: FeatureOptions = {
  catalog: {
    option: "catalog",
    problem: ({ catalog }) =>
      catalog === undefined || (isRecord(catalog) && typeof catalog.allTools === "function")
        ? undefined
        : "catalog must be the globals of a catalog",
    isGiven: ({ catalog }) => catalog !== undefined,
    text: (_options, shown) => shown?.allTools ?? "",
  },
  detachedFails: {
    option: "detachedCalls",
    problem: ({ detachedCalls }) =>
      detachedCalls === undefined || detachedCalls === "wait" || detachedCalls === "fail"
        ? undefined
        : 'detachedCalls must be "wait" or "fail"',
    isGiven: ({ detachedCalls }) => detachedCalls === "fail",
  },
  yield: {
    option: "mayYield",
    problem: ({ mayYield }) =>
      mayYield === undefined || typeof mayYield === "boolean" ? undefined : "mayYield must be a boolean",
    isGiven: ({ mayYield }) => mayYield === true,
  },
  connectors: {
    option: "connectors",
    problem: ({ connectors }) =>
      connectors === undefined || isHandles(connectors)
        ? undefined
        : "connectors must be handles, as createHandles of @codecell/connectors makes them",
    isGiven: ({ connectors }) => connectors !== undefined,
    text: ({ connectors }) => (connectors === undefined ? "" : JSON.stringify(connectors.setting)),
    tools: ({ connectors }) => connectors?.tools,
  },
  fetch: {
    option: "fetchPolicy",
    // Reading the policy says what is wrong with it.
    problem: () => undefined,
    isGiven: ({ fetchPolicy }) => fetchPolicy !== undefined,
    serve: ({ fetchPolicy }) => {
      const policy = fetchPolicy === undefined ? undefined : resolveFetchPolicy(fetchPolicy);
      return (limits) => ({ [FETCH_TOOL]: createFetchTool(policy, limits) });
    },
  },
  web: {
    option: "webGlobals",
    problem: ({ webGlobals }) =>
      webGlobals === undefined || typeof webGlobals === "boolean"
        ? undefined
        : "webGlobals must be a boolean",
    isGiven: ({ webGlobals, connectors }) => webGlobals ?? connectors !== undefined,
  },
};
