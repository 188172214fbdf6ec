/**
 * LedgerShape: checks the shape of a ledger's parts, which come from a message, a token, a store or a caller. Runs
 * anywhere.
 *
 * - Unknown fields are accepted, because another version may have written them. Unknown features are refused, because
 *   the program would behave differently without them.
 * - A failure code may be any text, because the program may have seen codes of other versions.
 */
import type { CallFailure } from "../contract/failure.ts";
import { type FeatureSettings, isSetting } from "../contract/features.ts";
import {
  type AskedOutcome,
  type BeforeAsking,
  type CallOutcome,
  type Delivery,
  type DeliveryItem,
  type KeptResolution,
  type Language,
  type Ledger,
  LEDGER_VERSION,
  type LedgerCall,
  type Progress,
  type SettledOutcome,
  type TimerChange,
} from "../contract/ledger.ts";
import type { CallResolution } from "../contract/result.ts";
import { isArrayOf, isCount, isDuration, isRecord, isText } from "./shape.ts";

export function isLanguage(value: unknown): value is Language {
  return value === "javascript" || value === "typescript";
}

export function isLedger(value: unknown): value is Ledger {
  if (!isRecord(value)) return false;
  const { limits, stopped } = value;
  return (
    value["version"] === LEDGER_VERSION &&
    ["runId", "source", "seed"].every((name) => isText(value[name])) &&
    isLanguage(value["language"]) &&
    isDuration(value["clock"]) &&
    isRecord(limits) &&
    Object.values(limits).every(isCount) &&
    isArrayOf(value["toolNames"], isText) &&
    isFeatures(value["features"]) &&
    (value["hollow"] === undefined || value["hollow"] === true) &&
    isArrayOf(value["calls"], isCall) &&
    isArrayOf(value["deliveries"], isDelivery) &&
    (stopped === undefined || (isRecord(stopped) && isText(stopped["code"]) && isText(stopped["message"])))
  );
}

export function isFeatures(value: unknown): value is FeatureSettings {
  return isRecord(value) && Object.keys(value).every((name) => isSetting(name, value[name]));
}

/**
 * Whether each outcome belongs to a call in the ledger. An outcome without its call would be given to a call that the
 * program makes later.
 */
export function isWhole({ calls, deliveries }: Ledger): boolean {
  return deliveries.every(({ items }) =>
    items.every((item) => item.kind === "timer" || item.call < calls.length),
  );
}

export function isCall(value: unknown): value is LedgerCall {
  return isRecord(value) && isText(value["tool"]) && isText(value["input"]);
}

export function isDelivery(value: unknown): value is Delivery {
  return isRecord(value) && isDuration(value["clock"]) && isArrayOf(value["items"], isDeliveryItem);
}

function isDeliveryItem(value: unknown): value is DeliveryItem {
  return isSettled(value) || (isRecord(value) && value["kind"] === "timer" && isCount(value["timer"]));
}

export function isOutcome(value: unknown): value is CallOutcome {
  return isSettled(value) || isAsked(value);
}

export function isAsked(value: unknown): value is AskedOutcome {
  return (
    isRecord(value) &&
    value["kind"] === "asked" &&
    isCount(value["call"]) &&
    value["payload"] !== undefined &&
    isBefore(value["before"])
  );
}

function isSettled(value: unknown): value is SettledOutcome {
  if (!isRecord(value) || !isCount(value["call"])) return false;
  return value["kind"] === "output"
    ? isText(value["output"])
    : value["kind"] === "failure" && isCallFailure(value["failure"]);
}

function isCallFailure(value: unknown): value is CallFailure {
  return (
    isRecord(value) &&
    ["code", "name", "message"].every((name) => isText(value[name])) &&
    ["toolCode", "shownCode", "details"].every((name) => value[name] === undefined || isText(value[name]))
  );
}

export function isProgress(value: unknown): value is Progress {
  return isRecord(value) && ["deliveries", "calls", "timers", "logs"].every((name) => isCount(value[name]));
}

export function isTimerChange(value: unknown): value is TimerChange {
  return (
    isRecord(value) && isCount(value["timer"]) && (value["delayMs"] === null || isCount(value["delayMs"]))
  );
}

export function isBefore(value: unknown): value is BeforeAsking | undefined {
  if (value === undefined) return true;
  if (!isRecord(value)) return false;
  const { isAllowed, input } = value;
  return (isAllowed === undefined || isAllowed === true) && (input === undefined || isRecord(input));
}

export function isKeptResolution(value: unknown): value is KeptResolution {
  return isResolution(value) && isBefore((value as { readonly before?: unknown }).before);
}

/** A resolution or a denial; a value with `deny` counts as a denial. */
export function isResolution(value: unknown): value is CallResolution {
  return isRecord(value) && ("deny" in value ? isText(value["deny"]) : value["resolution"] !== undefined);
}
