/**
 * What crosses between the worker and the prelude inside the guest: numbers for the kinds of messages,
 * and the order of the functions the prelude hands out. Imported by both sides.
 */
import { FEATURE_TABLE } from "../contract/feature-table.ts";
import type { BehindName, FeatureName } from "../contract/features.ts";

/** First argument of the host function the prelude is given. */
export const HOST = {
  /**
   * (index of the tool, inputJson): returns undefined, or a JSON text of a failure for calls that may not cross. See
   * `BEHIND_NAMES`.
   */
  call: 1,
  /** (level, text) */
  log: 2,
  /** (timerId, delayMs): returns undefined, or a text why no timer can be set. */
  timerSet: 3,
  /** (timerId) */
  timerClear: 4,
  /** (resultJson): the program returned. */
  done: 5,
  /** (origin, call, name, message, stack): the program threw; see `THROWN`. */
  thrown: 6,
  /** The same arguments: a rejection nobody handled, reported when asked after the program ended. */
  unhandled: 7,
  /** (name, inputJson): as `call`, of what is no tool. */
  callUnknown: 8,
  /** (callIndex, one of `DETACHED`, stack of the call): said when asked, if the program is to fail for it. */
  detached: 9,
  /** (): the program returned, and has given up every call that is still pending. */
  over: 10,
} as const;

/** Index of each function in the array the prelude returns. */
export const GUEST = {
  /** (seed, toolNamesJson, sum of FEATURE_FLAGS, …texts of features): before the program is called. */
  start: 0,
  /** (callIndex, outputJson) */
  resolve: 1,
  /** (callIndex, failureJson) */
  reject: 2,
  /** (timerId) */
  fire: 3,
  /** (promise, reason, isHandled): the engine's rejection tracker. */
  track: 4,
  /** (): reports what is left unhandled, what is left detached, and that nothing is waited for. */
  finish: 5,
  /** (value): an exception no guest code caught. */
  uncaught: 6,
  /** (promise of the program): reports how it ends. */
  conclude: 7,
} as const;

/** The features that a program may have or not, in the order of the table. */
const OPTIONAL = Object.entries(FEATURE_TABLE).filter(([, { setting }]) => setting !== "always");

/** A bit for each; those that have a text as their setting bring it along, in this order. */
export const FEATURE_FLAGS = Object.fromEntries(
  OPTIONAL.map(([name], index) => [name, 1 << index]),
) as Readonly<Record<FeatureName, number>>;

/** Those among them that have a text as their setting. */
export const TEXT_FEATURES: readonly string[] = OPTIONAL.filter(([, { setting }]) => setting === "text").map(
  ([name]) => name,
);

/** In which way a call is detached. */
export const DETACHED = { unawaited: 0, pending: 1 } as const;

/** Calls of features, as they are recorded: each is called by an index so far behind that of the last tool. */
export const BEHIND_NAMES: readonly string[] = Object.values(FEATURE_TABLE).flatMap(({ calls }) =>
  calls.map(({ name }) => name),
);

/** These indices by name. */
export const BEHIND = Object.fromEntries(BEHIND_NAMES.map((name, index) => [name, index])) as Readonly<
  Record<BehindName, number>
>;

/** Names of the two files a guest stack can mention. */
export const SOURCE_FILE = "source";
export const PRELUDE_FILE = "codecell";

/** What a thrown value is, as far as the prelude can tell without trusting it. */
export const THROWN = { value: 0, outOfMemory: 1, badResult: 2 } as const;

/** In place of a call's index: the thrown value did not come from a call. */
export const NO_CALL = -1;
