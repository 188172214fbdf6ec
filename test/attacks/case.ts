/** The file format of an attack case; see corpus/README.md for what each field means. */
import { readdirSync, readFileSync } from "node:fs";
import type { Json } from "codecell";

export type AttackClass =
  | "timeout"
  | "memory"
  | "stack"
  | "syntax"
  | "denied"
  | "limit"
  | "deadlock"
  | "guest_error"
  | "host_fault";

export interface ValueExpectation {
  readonly outcome: "value";
  readonly value?: Json;
  readonly nullish?: true;
  readonly matches?: string;
  readonly notMatches?: string;
  readonly subset?: Json;
}

export interface ErrorExpectation {
  readonly outcome: "error";
  readonly class: AttackClass | readonly AttackClass[];
  readonly messageIncludes?: string;
}

export type Expectation =
  | ValueExpectation
  | ErrorExpectation
  | { readonly anyOf: readonly (ValueExpectation | ErrorExpectation)[] };

interface Invariants {
  readonly hostUnaffected?: boolean;
  readonly maxWallMs?: number;
  readonly maxLoopGapMs?: number;
  readonly maxRssDeltaMB?: number;
  readonly maxToolCalls?: Readonly<Record<string, number>>;
  readonly noToolActivityAfterSettle?: boolean;
  readonly maxErrorBytes?: number;
  readonly maxStdoutBytes?: number;
  readonly maxLogBytes?: number;
  readonly errorNotInstanceOfRuntimeClass?: boolean;
  readonly notResumable?: boolean;
  readonly resumeTwiceExecutesOnce?: boolean;
  readonly denyThenApproveRefused?: boolean;
  readonly resumeWithoutOptions?: boolean;
  readonly tamperedStateRefused?: boolean;
  readonly expiredIsNotCompleted?: boolean;
}

export interface AttackCase {
  readonly id: string;
  readonly category: string;
  readonly description: string;
  readonly language: "ts" | "js";
  readonly code?: string;
  /** Run one after another on the same host. */
  readonly steps?: readonly string[];
  readonly limits?: {
    readonly timeoutMs?: number;
    readonly memoryBytes?: number;
    readonly maxResultBytes?: number;
    readonly maxToolCalls?: number;
    readonly maxInFlight?: number;
  };
  readonly requires?: readonly "suspend"[];
  readonly expect: Expectation | { readonly steps: readonly Expectation[] };
  readonly invariants: Invariants;
}

/** All invariants. A case that names another one is a mistake, and must not pass silently. */
const INVARIANTS: Readonly<Record<keyof Invariants, true>> = {
  hostUnaffected: true,
  maxWallMs: true,
  maxLoopGapMs: true,
  maxRssDeltaMB: true,
  maxToolCalls: true,
  noToolActivityAfterSettle: true,
  maxErrorBytes: true,
  maxStdoutBytes: true,
  maxLogBytes: true,
  errorNotInstanceOfRuntimeClass: true,
  notResumable: true,
  resumeTwiceExecutesOnce: true,
  denyThenApproveRefused: true,
  resumeWithoutOptions: true,
  tamperedStateRefused: true,
  expiredIsNotCompleted: true,
};

export function loadCases(folder: URL): URL[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .toSorted()
    .map((name) => new URL(name, folder));
}

export function readCase(file: URL): AttackCase {
  const attack = JSON.parse(readFileSync(file, "utf8")) as AttackCase;
  for (const name of Object.keys(attack.invariants)) {
    if (!Object.hasOwn(INVARIANTS, name))
      throw new Error(`${attack.id} names an unknown invariant "${name}"`);
  }
  return attack;
}
