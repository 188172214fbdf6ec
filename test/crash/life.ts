/** What a process of a crash test is told, and what its tools write down. */
import { existsSync, readFileSync } from "node:fs";

export type StorePlace =
  | { readonly kind: "sqlite"; readonly path: string }
  | {
      readonly kind: "postgres";
      readonly schema: string;
      readonly connection: { readonly host: string; readonly user: string; readonly database: string };
    };

export interface Life {
  readonly store: StorePlace;
  /** Those that nobody has started are started, unless this is the rival of a process that does. */
  readonly sources: readonly string[];
  readonly isRival: boolean;
  /** File of the tools. */
  readonly log: string;
  readonly leaseMs: number;
  /** Number of the step at which it ends; none lets it live. */
  readonly diesAt?: number;
  readonly death: "own hand" | "other hand";
}

/** Not a tool: notes that a run has come into the store. */
export const PUT = "(put)";

/** One execution of a tool. */
export interface Execution {
  readonly tool: string;
  readonly runId: string;
  readonly key: string;
  readonly program: number;
  /** The program's own number for the call. */
  readonly n: number;
  /** What the program reported, in its last call. */
  readonly report?: Report;
}

export interface Report {
  readonly out: unknown;
  /** Numbers of the calls that came back with their outcome, and of those whose outcome nobody knew. */
  readonly done: readonly number[];
  readonly unknown: readonly number[];
}

/** Tells which program a stored run is of. */
export function scopeOf(program: number): string {
  return `program ${program}`;
}

/** What has been written down so far, without a last line that a death cut short. */
export function executionsIn(log: string): Execution[] {
  if (!existsSync(log)) return [];
  const lines = readFileSync(log, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Execution);
}
