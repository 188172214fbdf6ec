/** Writes the results to files: one JSON per workload, from which the charts and the documentation are made. */

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import type { Row } from "../harness/rows.ts";
import type { Case, Metric, Workload } from "../workloads/workload.ts";

export interface Setting {
  readonly measuredAt: string;
  readonly commit: string;
  readonly node: string;
  readonly platform: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  /** Load average of the minute before the start. If it exceeds the number of cores, the times mean little. */
  readonly load: number;
  readonly quick: boolean;
  readonly codecell: "build" | "source";
  readonly peers: Readonly<Record<string, string>>;
}

export interface Results {
  readonly workload: string;
  readonly title: string;
  readonly metrics: readonly Metric[];
  readonly cases: readonly Case[];
  readonly setting: Setting;
  readonly contestants: readonly { readonly id: string; readonly name: string; readonly kind: string }[];
  readonly rows: readonly Row[];
}

export function describeSetting(options: Pick<Setting, "quick" | "codecell" | "peers">): Setting {
  return {
    measuredAt: new Date().toISOString(),
    commit: readCommit(),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    load: loadavg()[0] ?? 0,
    ...options,
  };
}

function readCommit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  } catch {
    return "unknown";
  }
}

export function toResults(
  workload: Pick<Workload, "name" | "title" | "metrics">,
  cases: readonly Case[],
  setting: Setting,
  contestants: Results["contestants"],
  rows: readonly Row[],
): Results {
  const { name, title, metrics } = workload;
  const listed = contestants.map(({ id, name: label, kind }) => ({ id, name: label, kind }));
  return { workload: name, title, metrics, cases, setting, contestants: listed, rows };
}

export function writeFile(folder: URL, name: string, text: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL(name, folder), text);
}
