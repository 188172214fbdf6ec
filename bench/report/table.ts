/**
 * Renders a workload's rows as an aligned table, one block per case, with the ratio to Codecell.
 */

import type { Row } from "../harness/rows.ts";
import type { Metric, Workload } from "../workloads/workload.ts";

/** Characters of a failure's message; the JSON has all of it. */
const REMARK = 90;

export type Names = ReadonlyMap<string, string>;

export function renderTable(workload: Workload, rows: readonly Row[], names: Names, self: string): string {
  const [first] = workload.metrics;
  const lines = [`\n${workload.title} [${workload.name}]`];
  for (const label of new Set(rows.map((row) => row.caseLabel))) {
    const ofCase = rows.filter((row) => row.caseLabel === label);
    const own = ofCase.find((row) => row.contestant === self)?.metrics[first.key];
    const heads = workload.metrics.map((metric) => `${metric.label}${unitOf(metric)}`);
    const cells = [[label === "" ? "" : `— ${label}`, "vs self", ...heads, "failed"]];
    for (const row of ofCase) {
      const times = ratioToSelf(first, row.metrics[first.key], own);
      // a contestant that left work undone is not to be compared
      const ratio = row.failed === 0 ? times : `(${times})`;
      const numbers = workload.metrics.map((metric) => renderNumber(row.metrics[metric.key]));
      const failed = row.failed === 0 ? "" : `${row.failed} of ${row.attempted}: ${row.failure ?? ""}`;
      cells.push([
        names.get(row.contestant) ?? row.contestant,
        ratio,
        ...numbers,
        (row.leftOut ?? failed).slice(0, REMARK),
      ]);
    }
    lines.push(...align(cells));
  }
  return lines.join("\n");
}

function unitOf(metric: Metric): string {
  return metric.unit === "ms" || metric.unit === "MB" || metric.unit === "KB" ? ` ${metric.unit}` : "";
}

/** How many times better Codecell is; below 1 it is worse. */
function ratioToSelf(metric: Metric, value: number | undefined, own: number | undefined): string {
  if (value === undefined || own === undefined || value === 0 || own === 0) return "–";
  const times = metric.better === "lower" ? value / own : own / value;
  return `${renderNumber(times)}×`;
}

export function renderNumber(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en-US");
  if (size >= 10) return value.toFixed(1);
  return value.toFixed(size >= 1 ? 2 : 3);
}

function align(cells: readonly (readonly string[])[]): string[] {
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((line) => (line[column] ?? "").length)),
  );
  return cells.map((line) =>
    line
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        const textual = column === 0 || column === line.length - 1;
        return textual ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  ")
      .trimEnd(),
  );
}
