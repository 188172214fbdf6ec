/**
 * ABI: what crosses between the worker and the prelude: the numbers of message kinds, and the order of the functions
 * that the prelude returns. Runs on both sides.
 */
import { FEATURE_TABLE, type GuestFeature } from "../contract/feature-table.ts";
import type { BehindName, FeatureName } from "../contract/features.ts";

/**
 * The first argument of the host function that the prelude gets; the comment at each kind lists the other arguments.
 */
export const HOST = {
  /**
   * (index of the tool, inputJson): returns undefined, or the JSON text of a failure if the call may not cross. For
   * indices behind the last tool see `BEHIND_NAMES`.
   */
  call: 1,
  /** (level, text) */
  log: 2,
  /** (timerId, delayMs): returns undefined, or a text that says why no timer can be set. */
  timerSet: 3,
  /** (timerId) */
  timerClear: 4,
  /** (resultJson): the program returned. */
  done: 5,
  /** (origin, call, name, message, stack): the program threw; see `THROWN`. */
  thrown: 6,
  /** The same arguments: a rejection that nobody handled. Reported on request, after the program ended. */
  unhandled: 7,
  /** (name, inputJson): like `call`, for a name that is not a tool. */
  callUnknown: 8,
  /** (callIndex, one of `DETACHED`, stack of the call): reported on request, if a detached call fails the program. */
  detached: 9,
  /** (): the program returned, and has given up every pending call. */
  over: 10,
  /** (index in `PART_NAMES`): returns the function that makes the part. */
  part: 11,
} as const;

/** The parts of the prelude that a cell loads when its program first needs them. */
export const PART_NAMES = ["body", "streams", "buffer"] as const;

export type PartName = (typeof PART_NAMES)[number];

/** The index of each function in the array that the prelude returns. */
export const GUEST = {
  /** (seed, toolNamesJson, sum of FEATURE_FLAGS, …texts of features): called before the program. */
  start: 0,
  /** (callIndex, outputJson) */
  resolve: 1,
  /** (callIndex, failureJson) */
  reject: 2,
  /** (timerId) */
  fire: 3,
  /** (promise, reason, isHandled): the engine's rejection tracker. */
  track: 4,
  /** (): reports unhandled rejections, detached calls, and that the program waits for nothing. */
  finish: 5,
  /** (value): an exception that no guest code caught. */
  uncaught: 6,
  /** (promise of the program): reports how the program ends. */
  conclude: 7,
} as const;

/** The optional features, in the order of the table. */
const OPTIONAL = Object.entries<GuestFeature>(FEATURE_TABLE).filter(
  ([, { setting }]) => setting !== "always",
);

/** One bit for each optional feature. Features with a text as their setting also pass that text, in this order. */
export const FEATURE_FLAGS = Object.fromEntries(
  OPTIONAL.map(([name], index) => [name, 1 << index]),
) as Readonly<Record<FeatureName, number>>;

/** The optional features that have a text as their setting. */
export const TEXT_FEATURES: readonly string[] = OPTIONAL.filter(([, { setting }]) => setting === "text").map(
  ([name]) => name,
);

/** The flags of the features that put a program into the catalog profile. */
export const CATALOG_PROFILE_FLAGS: number = OPTIONAL.reduce(
  (flags, [name, { isCatalogProfile }]) =>
    isCatalogProfile === true ? flags | FEATURE_FLAGS[name as FeatureName] : flags,
  0,
);

/** How a call is detached. */
export const DETACHED = { unawaited: 0, pending: 1 } as const;

/** The recorded names of features' calls. The index of such a call is the number of tools plus its index here. */
export const BEHIND_NAMES: readonly string[] = Object.values(FEATURE_TABLE).flatMap(({ calls }) =>
  calls.map(({ name }) => name),
);

/** The indices in `BEHIND_NAMES` by name. */
export const BEHIND = Object.fromEntries(BEHIND_NAMES.map((name, index) => [name, index])) as Readonly<
  Record<BehindName, number>
>;

/** The names of the two files that a guest stack can mention. */
export const SOURCE_FILE = "source";
export const PRELUDE_FILE = "codecell";

/** The kind of a thrown value, as far as the prelude can tell without trusting the value. */
export const THROWN = { value: 0, outOfMemory: 1, badResult: 2 } as const;

/** Stands for the index of a call if the thrown value did not come from a call. */
export const NO_CALL = -1;
