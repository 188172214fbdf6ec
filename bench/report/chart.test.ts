import { expect, test } from "vitest";
import { toEmptyRow, toRow } from "../harness/rows.ts";
import { renderChart } from "./chart.ts";
import type { Results } from "./results.ts";

const results: Results = {
  workload: "w",
  title: "A <title>",
  metrics: [{ key: "p50", label: "p50", better: "lower", unit: "ms" }],
  cases: [{ label: "", size: 1 }],
  setting: {
    measuredAt: "2026-01-01T00:00:00.000Z",
    commit: "abc",
    node: "v24",
    platform: "linux x64",
    cpu: "cpu",
    cores: 2,
    memoryGb: 8,
    load: 0,
    quick: true,
    codecell: "build",
    peers: {},
  },
  contestants: [
    { id: "codecell", name: "Codecell", kind: "self" },
    { id: "half", name: "Half", kind: "peer" },
    { id: "gone", name: "Gone", kind: "peer" },
  ],
  rows: [
    toRow("codecell", "", [{ metrics: { p50: 0.5 }, attempted: 4, failed: 0 }]),
    toRow("half", "", [{ metrics: { p50: 50 }, attempted: 4, failed: 2, failure: "refused" }]),
    toEmptyRow("gone", "", "not installed: reason"),
  ],
};

test("a chart names every contestant, its failures and why it is missing", () => {
  const svg = renderChart(results);
  expect(svg).toContain("A &lt;title&gt;");
  expect(svg).toContain("Codecell");
  expect(svg).toContain("2 of 4 failed");
  expect(svg).toContain("not installed: reason");
  expect(svg).toContain("prefers-color-scheme: dark");
  expect(svg).not.toContain("NaN");
});

test("a chart of nothing measured is still a chart", () => {
  const empty = { ...results, rows: results.rows.filter((row) => row.contestant === "gone") };
  expect(renderChart(empty)).not.toMatch(/NaN|Infinity/);
});
