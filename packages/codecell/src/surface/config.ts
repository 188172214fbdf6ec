/**
 * Runs on the host. Config is what an operator wrote about code mode, resolved once.
 *
 * - Only `true`, or an object whose `enabled` is `true`, turns code mode on. Anything else leaves it off.
 * - A number outside its bounds is clamped to them. A value that is not a positive integer counts as not given.
 * - A runtime, mode or language that does not exist is a problem, never guessed. Then the model sees no other tools,
 *   and every program fails with this problem.
 * - A name that nobody reads is refused where a run is prepared, whether code mode is on or not: a limit, or `enabled`
 *   itself, may be misspelt.
 */
import { assertNames } from "../contract/assert-names.ts";
import type { Bound } from "../contract/limits.ts";
import { isRecord } from "../value/shape.ts";

/** In the order in which messages name them. Programs are in the first one by default. */
const LANGUAGES = ["javascript", "typescript"] as const;

export type CodeModeLanguage = (typeof LANGUAGES)[number];

interface Numbers {
  /** Time of one `exec` or `wait`, from call to answer. */
  readonly timeoutMs: number;
  /** Bytes of the program's heap. */
  readonly memoryLimitBytes: number;
  /** Bytes of value, output and log lines together. */
  readonly maxOutputBytes: number;
  /** Bytes of a suspended run. */
  readonly maxSnapshotBytes: number;
  /** Nested calls that execute at the same time. */
  readonly maxPendingToolCalls: number;
  /** How long a suspended run can be waited for. */
  readonly snapshotTtlSeconds: number;
  /** How many tools a search gives if it does not ask for a number; at most `maxSearchLimit`. */
  readonly searchDefaultLimit: number;
  /** Most tools that a search gives. */
  readonly maxSearchLimit: number;
  /** Characters of the index of tools in the description of `exec`. Not part of the contract. */
  readonly indexChars: number;
}

export interface CodeModeSettings extends Numbers {
  readonly runtime: "quickjs-wasi";
  readonly mode: "only";
  /** The enabled languages; at least one. */
  readonly languages: readonly CodeModeLanguage[];
}

export type ResolvedCodeMode =
  | { readonly status: "off" }
  | { readonly status: "on"; readonly settings: CodeModeSettings }
  /** Code mode is on, but nothing can run: every program fails with `invalid_config` and this problem. */
  | { readonly status: "invalid"; readonly problem: string };

const KiB = 1024;
const MiB = 1024 * KiB;

export const CODE_MODE_BOUNDS: Readonly<Record<keyof Numbers, Bound>> = {
  timeoutMs: { default: 10_000, min: 100, max: 60_000 },
  memoryLimitBytes: { default: 64 * MiB, min: MiB, max: 1024 * MiB },
  maxOutputBytes: { default: 64 * KiB, min: KiB, max: 10 * MiB },
  maxSnapshotBytes: { default: 10 * MiB, min: KiB, max: 256 * MiB },
  maxPendingToolCalls: { default: 16, min: 1, max: 128 },
  snapshotTtlSeconds: { default: 900, min: 1, max: 86_400 },
  searchDefaultLimit: { default: 8, min: 1, max: 50 },
  maxSearchLimit: { default: 50, min: 1, max: 50 },
  // Measured: with this default, 215 tools of 7 owners cost less than 1,500 tokens, descriptions included.
  indexChars: { default: 3600, min: 200, max: 200_000 },
};

/** Settings that allow one value only. */
const FIXED = { runtime: "quickjs-wasi", mode: "only" } as const;

/** All names that a configuration may have. */
const NAMES: object = { enabled: true, ...FIXED, languages: true, ...CODE_MODE_BOUNDS };

/** A problem cuts longer values. */
const LONGEST_SHOWN = 60;

/** Throws a TypeError for a name that nobody reads. `action` is what the configuration is for. */
export function assertConfigNames(config: unknown, action: string): void {
  if (isRecord(config)) assertNames(config, NAMES, action, "config");
}

export function resolveCodeMode(config: unknown): ResolvedCodeMode {
  try {
    return resolve(config);
  } catch {
    // A getter threw. Code mode may have been meant to be on, so no tool may be shown.
    return { status: "invalid", problem: "Cannot use code mode: its configuration cannot be read" };
  }
}

function resolve(config: unknown): ResolvedCodeMode {
  const given = config === true ? { enabled: true } : config;
  if (!isRecord(given) || given["enabled"] !== true) return { status: "off" };
  for (const [name, value] of Object.entries(FIXED)) {
    if (given[name] !== undefined && given[name] !== value) {
      return invalid(name, given[name], `the only ${name} is "${value}"`);
    }
  }
  const asked: unknown = given["languages"] === undefined ? [] : given["languages"];
  if (!Array.isArray(asked)) return invalid("languages", asked, "expected a list");
  const unknownAt = asked.findIndex((one) => !(LANGUAGES as readonly unknown[]).includes(one));
  if (unknownAt !== -1) return invalid("languages", asked[unknownAt], `known are ${LANGUAGES.join(", ")}`);
  const chosen = LANGUAGES.filter((one) => asked.includes(one));
  const languages = Object.freeze(chosen.length === 0 ? [...LANGUAGES] : chosen);
  return { status: "on", settings: Object.freeze({ ...FIXED, languages, ...resolveNumbers(given) }) };
}

function resolveNumbers(given: Readonly<Record<string, unknown>>): Numbers {
  const resolved: Record<string, number> = {};
  for (const [name, bound] of Object.entries(CODE_MODE_BOUNDS)) resolved[name] = clamp(given[name], bound);
  const numbers = resolved as unknown as Numbers;
  return { ...numbers, searchDefaultLimit: Math.min(numbers.searchDefaultLimit, numbers.maxSearchLimit) };
}

function clamp(value: unknown, bound: Bound): number {
  return Math.min(bound.max, Math.max(bound.min, isGiven(value) ? value : bound.default));
}

function isGiven(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0;
}

export type NumberSetting = keyof Numbers;

/** The numbers that a configuration sets. The others have their defaults. */
export function givenNumbers(config: unknown): ReadonlySet<NumberSetting> {
  const names = Object.keys(CODE_MODE_BOUNDS) as NumberSetting[];
  return new Set(isRecord(config) ? names.filter((name) => isGiven(config[name])) : []);
}

function invalid(name: string, value: unknown, wanted: string): ResolvedCodeMode {
  const shown = typeof value === "string" ? JSON.stringify(value.slice(0, LONGEST_SHOWN)) : typeof value;
  return { status: "invalid", problem: `Cannot use code mode: ${name} is ${shown}, ${wanted}` };
}
