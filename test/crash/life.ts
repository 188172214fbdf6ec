/** What a process of a crash test gets as input, and what its tools write down. */
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
  /** Programs that nobody has started are started, except by the rival of a process that does so. */
  readonly sources: readonly string[];
  readonly isRival: boolean;
  /** The file to which tools write. */
  readonly log: string;
  readonly leaseMs: number;
  /** The step at which the process dies; undefined lets it live. */
  readonly diesAt?: number;
  readonly death: "own hand" | "other hand";
}

/** Not a tool: notes that a run has been put into the store. */
export const PUT = "(put)";

/** One execution of a tool. */
export interface Execution {
  readonly tool: string;
  readonly runId: string;
  readonly key: string;
  readonly program: number;
  /** The program's own number of the call. */
  readonly n: number;
  /** The report that the program made in its last call. */
  readonly report?: Report;
}

export interface Report {
  readonly out: unknown;
  /** Numbers of the calls that gave their outcome, and of those with an unknown outcome. */
  readonly done: readonly number[];
  readonly unknown: readonly number[];
}

/** The scope of a program's run, which tells its program. */
export function scopeOf(program: number): string {
  return `program ${program}`;
}

/** All executions written down so far, without a last line that a kill cut short. */
export function executionsIn(log: string): Execution[] {
  if (!existsSync(log)) return [];
  const lines = readFileSync(log, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Execution);
}
