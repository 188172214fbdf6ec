/**
 * The command line of the bench.
 */

import { parseArgs } from "node:util";
import { createContestants } from "../contestants/index.ts";
import { findWorkload, WORKLOADS } from "../workloads/index.ts";
import type { Pace, Workload } from "../workloads/workload.ts";

export const USAGE = `npm run bench -- [workload …] [options]

  catalog        all that concerns catalogs: declarations, catalog-build, tool-search, tool-search-quality, check
  declarations   the tokens of tools as a model is shown them

  --rounds n     rounds instead of each workload's own number
  --quick        short blocks, one round, fewer cases; results go to bench/results/local
  --only a,b     these contestants only (ids)
  --check        exit with 1 when a bar is missed or could not be measured
  --source       measure Codecell's source instead of its build
  --list         list workloads and contestants`;

const FULL_PACE: Pace = { warmMs: 1500, blockMs: 1000, minRuns: 10, maxRuns: 2000 };
const QUICK_PACE: Pace = { warmMs: 400, blockMs: 250, minRuns: 5, maxRuns: 500 };

/** Names that stand for several workloads. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  catalog: ["catalog-build", "tool-search", "tool-search-quality", "check"],
  // no workload, since nothing runs and printers are no contestants
  declarations: [],
};

export interface Arguments {
  /** Whether the tokens of declarations are counted too. */
  readonly declarations: boolean;
  readonly workloads: readonly Workload[];
  readonly rounds: number | undefined;
  readonly quick: boolean;
  readonly only: ReadonlySet<string> | undefined;
  readonly check: boolean;
  readonly source: boolean;
  readonly list: boolean;
  readonly help: boolean;
  readonly pace: Pace;
}

export function parseArguments(args: readonly string[]): Arguments {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: "string" },
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      check: { type: "boolean", default: false },
      source: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && (!Number.isInteger(rounds) || rounds < 1)) {
    throw new RangeError(`Cannot measure "${values.rounds}" rounds: expected a positive integer`);
  }
  const only = values.only === undefined ? undefined : new Set(values.only.split(","));
  const known = new Set(createContestants().map((each) => each.id));
  for (const id of only ?? []) {
    if (!known.has(id)) {
      throw new RangeError(`Cannot measure "${id}": no such contestant, known are ${[...known].join(", ")}`);
    }
  }
  return {
    declarations:
      positionals.length === 0 || positionals.includes("catalog") || positionals.includes("declarations"),
    workloads:
      positionals.length === 0
        ? WORKLOADS
        : positionals.flatMap((name) => GROUPS[name] ?? [name]).map((name) => findWorkload(name)),
    rounds: rounds ?? (values.quick ? 1 : undefined),
    quick: values.quick,
    only,
    check: values.check,
    source: values.source,
    list: values.list,
    help: values.help,
    pace: values.quick ? QUICK_PACE : FULL_PACE,
  };
}
