/**
 * Renders a workload's rows as an aligned table, one block per case, with the ratio to Codecell.
 */

import { ratioOf, type Row } from "../harness/rows.ts";
import type { Metric, Workload } from "../workloads/workload.ts";

/** Most characters of a failure's message; the JSON has all of it. */
const REMARK = 90;

type Measured = Pick<Workload, "name" | "title" | "metrics">;
export type Names = ReadonlyMap<string, string>;

export function renderTable(workload: Measured, rows: readonly Row[], names: Names, self: string): string {
  const [first] = workload.metrics;
  const lines = [`\n${workload.title} [${workload.name}]`];
  for (const label of new Set(rows.map((row) => row.caseLabel))) {
    const ofCase = rows.filter((row) => row.caseLabel === label);
    const own = ofCase.find((row) => row.contestant === self);
    const several = ofCase.some((row) => row.rounds > 1);
    const heads = workload.metrics.map((metric) => `${metric.label}${unitOf(metric)}`);
    const cells = [
      [label === "" ? "" : `— ${label}`, "vs self", ...heads, ...(several ? ["rounds"] : []), "failed"],
    ];
    for (const row of ofCase) {
      const times = ratioToSelf(first, row, own);
      // a contestant that left work undone cannot be compared
      const ratio = row.failed === 0 ? times : `(${times})`;
      const numbers = workload.metrics.map((metric) => renderNumber(row.metrics[metric.key]));
      const failed = row.failed === 0 ? "" : `${row.failed} of ${row.attempted}: ${row.failure ?? ""}`;
      cells.push([
        names.get(row.contestant) ?? row.contestant,
        ratio,
        ...numbers,
        ...(several ? [renderSpread(row, first)] : []),
        (row.leftOut ?? failed).slice(0, REMARK),
      ]);
    }
    lines.push(...align(cells));
  }
  return lines.join("\n");
}

function unitOf(metric: Metric): string {
  return ["ms", "MB", "KB", "%"].includes(metric.unit) ? ` ${metric.unit}` : "";
}

/** How many times better Codecell is; less than 1 is worse. */
function ratioToSelf(metric: Metric, row: Row, own: Row | undefined): string {
  const ratio = ratioOf(row, own, metric.key);
  if (ratio === undefined) return "–";
  return `${renderNumber(metric.better === "lower" ? ratio : 1 / ratio)}×`;
}

/** Lowest and highest round of the first metric. */
function renderSpread(row: Row, metric: Metric): string {
  const values = (row.values[metric.key] ?? []).filter((value) => value !== null);
  if (values.length === 0) return "–";
  return `${renderNumber(Math.min(...values))}–${renderNumber(Math.max(...values))}`;
}

export function renderNumber(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en-US");
  if (size >= 10) return value.toFixed(1);
  return value.toFixed(size >= 1 ? 2 : 3);
}

export function align(cells: readonly (readonly string[])[]): string[] {
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
