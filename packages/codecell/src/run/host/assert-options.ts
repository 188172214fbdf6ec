/** Runs on the host. Refuses options of the wrong kind: misuse by the host programmer throws. */
import type { CallMiddleware } from "../../calls/middleware.ts";
import { assertNames, type OptionNames } from "../../contract/assert-names.ts";
import { assertTools } from "../../contract/assert-tools.ts";
import { BEHIND_CALLS, type FeatureName } from "../../contract/features.ts";
import { type Ledger, LEDGER_VERSION } from "../../contract/ledger.ts";
import type { Resolutions } from "../../contract/result.ts";
import type { ToolSet } from "../../contract/tool.ts";
import type { RunPast } from "../../durable/run-past.ts";
import { isLanguage, isLedger, isWhole } from "../../value/ledger-shape.ts";
import { isRecord } from "../../value/shape.ts";
import type { OptionOfFeature } from "./feature-options.ts";
import { assertFeatures, featureOptionNames, isGiven } from "./features.ts";
import type {
  DiscardOptions,
  ForkOptions,
  ReadEndedOptions,
  ResumeOptions,
  RunOptions,
  StartOptions,
} from "./host-options.ts";
import { assertPending } from "./resolutions.ts";

type Purpose = "start" | "resume" | "fork" | "discard" | "read" | "delete";

/** `action` is what the options are for. */
export function assertOptions(options: unknown, action: string): void {
  if (isRecord(options) && !Array.isArray(options)) return;
  const given = options === null || options === undefined ? String(options) : `a ${typeof options}`;
  throw new TypeError(`Cannot ${action}: expected an object of options, it is ${given}`);
}

const OF_RUN: OptionNames<Omit<RunOptions, OptionOfFeature>> = {
  tools: true,
  signal: true,
  context: true,
  scope: true,
  atDeadline: true,
  middleware: true,
  authorize: true,
  onError: true,
  onEvent: true,
  compactTokens: true,
  encrypt: true,
  mapCallFailure: true,
};
const OF_START: OptionNames<Omit<StartOptions, OptionOfFeature>> = {
  ...OF_RUN,
  source: true,
  language: true,
  limits: true,
};
const OF_RESUME: OptionNames<Omit<ResumeOptions, OptionOfFeature>> = {
  ...OF_RUN,
  token: true,
  id: true,
  resolutions: true,
};
const OF_FORK: OptionNames<Omit<ForkOptions, OptionOfFeature>> = {
  ...OF_RUN,
  atCall: true,
  outcome: true,
  source: true,
};
const OF_DISCARD: OptionNames<DiscardOptions> = { token: true, id: true, scope: true };
const OF_READ: OptionNames<ReadEndedOptions> = { id: true, scope: true };
const NAMES = {
  start: { ...OF_START, ...featureOptionNames("start") },
  resume: { ...OF_RESUME, ...featureOptionNames("resume") },
  fork: { ...OF_FORK, ...featureOptionNames("fork") },
};

/** For limits of a host or a run. Each single limit is checked where it is set. */
export function assertLimits(limits: unknown, action: string): void {
  if (limits === undefined || (isRecord(limits) && !Array.isArray(limits))) return;
  throw new TypeError(`Cannot ${action}: limits must be an object of limits by their names`);
}

/** Checks the options that every run may have, wherever it begins. */
export function assertRun(options: RunOptions, purpose: "start" | "resume" | "fork"): void {
  assertOptions(options, `${purpose} a run`);
  assertNames(options, NAMES[purpose], `${purpose} a run`);
  const { signal, atDeadline } = options;
  if (signal !== undefined && !isSignal(signal)) {
    const meant = isRecord(signal) && isSignal(signal["signal"]) ? ": give the controller's signal" : "";
    throw new TypeError(`Cannot ${purpose} a run: signal must be an AbortSignal${meant}`);
  }
  if (atDeadline !== undefined && atDeadline !== "fail" && atDeadline !== "suspend") {
    throw new TypeError(`Cannot ${purpose} a run: atDeadline must be "fail" or "suspend"`);
  }
  assertMiddleware(options.middleware, purpose);
  for (const name of ["encrypt", "compactTokens"] as const) {
    // Another value may be meant as "encrypt": it must not lead to readable bytes.
    if (options[name] !== undefined && typeof options[name] !== "boolean") {
      throw new TypeError(`Cannot ${purpose} a run: ${name} must be a boolean`);
    }
  }
  for (const name of ["authorize", "mapCallFailure", "onError", "onEvent"] as const) {
    if (options[name] !== undefined && typeof options[name] !== "function") {
      throw new TypeError(`Cannot ${purpose} a run: ${name} must be a function`);
    }
  }
  assertFeatures(options, purpose);
}

/** A misspelt part would never be called: it must not look like a policy that is in force. */
function assertMiddleware(given: unknown, purpose: string): void {
  if (given === undefined) return;
  const fail = (why: string): never => {
    throw new TypeError(`Cannot ${purpose} a run: middleware must be ${why}`);
  };
  if (!Array.isArray(given)) return fail("a list");
  for (const one of given as readonly unknown[]) {
    if (!isRecord(one)) return fail("a list of objects");
    const parts = MIDDLEWARE.filter((name) => one[name] !== undefined);
    if (parts.length === 0) return fail("a list of objects with decide, execute or end");
    const wrong = parts.find((name) => typeof one[name] !== "function");
    if (wrong !== undefined) {
      throw new TypeError(`Cannot ${purpose} a run: middleware.${wrong} must be a function`);
    }
    // An instance of a class may have fields of its own.
    const prototype: unknown = Object.getPrototypeOf(one);
    if (prototype !== Object.prototype && prototype !== null) continue;
    const other = Object.keys(one).find((name) => !(MIDDLEWARE as readonly string[]).includes(name));
    if (other !== undefined)
      return fail(`a list of objects with decide, execute or end, not ${JSON.stringify(other.slice(0, 64))}`);
  }
}

const MIDDLEWARE = ["decide", "execute", "end"] as const satisfies readonly (keyof CallMiddleware)[];

/** Accepts any implementation of AbortSignal that has what is used here. */
function isSignal(value: unknown): boolean {
  if (!isRecord(value) || typeof value["aborted"] !== "boolean") return false;
  return (
    typeof value["addEventListener"] === "function" && typeof value["removeEventListener"] === "function"
  );
}

export function assertStart(options: StartOptions): void {
  assertRun(options, "start");
  const { source, language, tools, scope, limits } = options;
  if (language !== undefined && !isLanguage(language)) {
    throw new TypeError(`Cannot start a run: no such language "${String(language)}"`);
  }
  assertLimits(limits, "start a run");
  assertNew({ source, tools, scope, has: (feature) => isGiven(options, feature) }, "start");
}

export function assertFork(ledger: unknown, options: ForkOptions): asserts ledger is Ledger {
  assertLedger(ledger, "fork");
  assertRun(options, "fork");
  const { source = ledger.source, tools, scope } = options;
  assertNew({ source, tools, scope, has: (feature) => ledger.features[feature] !== undefined }, "fork");
}

export function assertLedger(ledger: unknown, purpose: "replay" | "fork"): asserts ledger is Ledger {
  if (isRecord(ledger) && typeof ledger["version"] === "number" && ledger["version"] !== LEDGER_VERSION) {
    throw new TypeError(
      `Cannot ${purpose} a ledger of version ${ledger["version"]}: only ${LEDGER_VERSION} is known`,
    );
  }
  if (isRecord(ledger) && ledger["hollow"] === true) {
    throw new TypeError(
      `Cannot ${purpose} a run: its ledger is hollow, since the run was resumed from a compact token, which leaves out outputs of tools`,
    );
  }
  // A replay finds by itself that something is missing. A fork would make the missing call once more.
  if (!isLedger(ledger) || (purpose === "fork" && !isWhole(ledger))) {
    throw new TypeError(`Cannot ${purpose} a run: this is not a ledger, give the ledger of a run's handle`);
  }
}

/** Whether the program has a feature. */
type HasFeature = (name: FeatureName) => boolean;

/** What every new run needs, wherever its past comes from. */
interface NewRunOptions {
  readonly source: unknown;
  readonly tools: ToolSet | undefined;
  readonly scope: unknown;
  readonly has: HasFeature;
}

function assertNew({ source, tools = {}, scope, has }: NewRunOptions, purpose: "start" | "fork"): void {
  if (typeof source !== "string") throw new TypeError(`Cannot ${purpose} a run: source must be a string`);
  assertRunTools(tools, purpose, has);
  assertScope(scope, purpose);
}

/** Tools and resolutions have to fit the run that is resumed. */
export function assertFits(past: RunPast, tools: ToolSet, resolutions: Resolutions): void {
  const { features } = past.recorder.header;
  assertRunTools(tools, "resume", (feature) => features[feature] !== undefined);
  assertPending(past, resolutions);
}

/** A tool with one of these names could not be told from a call that no tool serves. */
const NOT_OF_TOOLS = [...BEHIND_CALLS.values()].filter(({ endedBy }) => endedBy !== "tool");

/** Tool sets that cannot change any more, so that a set of thousands is not looked through for every run. */
const whole = new WeakSet<ToolSet>();

export function assertRunTools(tools: ToolSet, purpose: Purpose, has: HasFeature = () => false): void {
  if (!whole.has(tools)) {
    assertTools(tools, `${purpose} a run`);
    if (Object.isFrozen(tools)) whole.add(tools);
  }
  for (const { name, shown, feature } of NOT_OF_TOOLS) {
    if (!Object.hasOwn(tools, name) || !has(feature)) continue;
    throw new TypeError(
      `Cannot ${purpose} a run: its program has ${shown}, so no tool can be named "${name}", rename the tool`,
    );
  }
}

/** A suspended run is named by its token or by its id, not by both. */
export function assertSuspended({ token, id, scope }: DiscardOptions, purpose: "resume" | "discard"): void {
  if ((typeof token === "string") === (typeof id === "string")) {
    throw new TypeError(`Cannot ${purpose} a run: give either its token or its id`);
  }
  assertScope(scope, purpose);
}

export function assertDiscard(options: DiscardOptions): void {
  assertOptions(options, "discard a run");
  assertNames(options, OF_DISCARD, "discard a run");
  assertSuspended(options, "discard");
}

export function assertEnded(options: ReadEndedOptions, purpose: "read" | "delete"): void {
  assertOptions(options, `${purpose} a run`);
  assertNames(options, OF_READ, `${purpose} a run`);
  const { id, scope }: { readonly id: unknown; readonly scope?: unknown } = options;
  if (typeof id !== "string") throw new TypeError(`Cannot ${purpose} a run: id must be a string`);
  assertScope(scope, purpose);
}

function assertScope(scope: unknown, purpose: Purpose): void {
  if (scope !== undefined && typeof scope !== "string") {
    throw new TypeError(`Cannot ${purpose} a run: scope must be a string`);
  }
}
