import { expect, test } from "vitest";
import { BARS, judge, type Bar } from "./bars.ts";
import { createContestants } from "./contestants/index.ts";
import { COMPARISONS, DECLARATIONS } from "./declarations/comparisons.ts";
import { toEmptyRow, toRow, type Row } from "./harness/rows.ts";
import { findWorkload } from "./workloads/index.ts";
import type { Sample } from "./workloads/workload.ts";

const place = { workload: "w", caseLabel: "c", metric: "p50" };

function toSample(p50: number, failed = 0): Sample {
  return { metrics: { p50 }, attempted: 10, failed };
}

function measure(own: number, other: number, failed = 0): Map<string, Row[]> {
  const rows = [
    toRow("codecell", "c", [toSample(own, failed)]),
    toRow("peer", "c", [toSample(other, failed)]),
  ];
  return new Map([["w", rows]]);
}

test.each<[Bar, number, number, boolean]>([
  [{ ...place, kind: "ahead", of: "peer", times: 6 }, 1, 6, true],
  [{ ...place, kind: "ahead", of: "peer", times: 6 }, 1, 5.9, false],
  [{ ...place, kind: "ahead", of: "peer", times: 6, higherIsBetter: true }, 60, 10, true],
  [{ ...place, kind: "within", of: "peer", times: 2 }, 2, 1, true],
  [{ ...place, kind: "within", of: "peer", times: 2 }, 2.1, 1, false],
  [{ ...place, kind: "below", value: 10, unit: "MB" }, 9, 0, true],
  [{ ...place, kind: "below", value: 10, unit: "MB" }, 10, 0, false],
  [{ ...place, kind: "above", value: 10, unit: "per s" }, 11, 0, true],
  [{ ...place, kind: "above", value: 10, unit: "per s" }, 10, 0, false],
])("%o with %d against %d", (bar, own, other, met) => {
  expect(judge(bar, measure(own, other)).met).toBe(met);
});

test.each([
  [20, true],
  [21, false],
])("a case with %d is judged by another case with 10", (own, met) => {
  const rows = [toRow("codecell", "c", [toSample(own)]), toRow("codecell", "small", [toSample(10)])];
  const bar: Bar = { ...place, kind: "flat", ofCase: "small", times: 2 };
  expect(judge(bar, new Map([["w", rows]])).met).toBe(met);
});

test("one failed run misses the bar that none fails", () => {
  expect(judge({ ...place, kind: "none-fails" }, measure(1, 1)).met).toBe(true);
  expect(judge({ ...place, kind: "none-fails" }, measure(1, 1, 1)).met).toBe(false);
});

test("what was not measured is neither met nor missed", () => {
  const measured = new Map([["w", [toEmptyRow("codecell", "c", "not installed: reason")]]]);
  for (const demand of [{ kind: "none-fails" }, { kind: "ahead", of: "peer", times: 2 }] as const) {
    expect(judge({ ...place, ...demand }, measured).met).toBeUndefined();
  }
});

test("ratios are taken round by round", () => {
  const own = toRow("codecell", "c", [toSample(1), toSample(10), toSample(100)]);
  const peer = toRow("peer", "c", [toSample(7), toSample(70), toSample(300)]);
  expect(judge({ ...place, kind: "ahead", of: "peer", times: 7 }, new Map([["w", [own, peer]]])).met).toBe(
    true,
  );
});

test("every bar is about something that a full run measures", () => {
  const ids = new Set(createContestants().map(({ id }) => id));
  for (const bar of BARS.filter(({ workload }) => workload !== DECLARATIONS.name)) {
    const { cases, metrics, only } = findWorkload(bar.workload);
    expect(cases.map(({ label }) => label)).toContain(bar.caseLabel);
    expect(metrics.map(({ key }) => key)).toContain(bar.metric);
    for (const id of only ?? []) expect(ids).toContain(id);
    if ("ofCase" in bar) expect(cases.map(({ label }) => label)).toContain(bar.ofCase);
    if ("of" in bar) expect(only ?? [...ids]).toContain(bar.of);
  }
});

test("every peer that prints declarations is compared with Codecell printing as much", () => {
  const bars = BARS.filter(({ workload }) => workload === DECLARATIONS.name);
  for (const { label, printers } of COMPARISONS) {
    const peers = printers.map(({ id }) => id).filter((id) => !id.startsWith("codecell"));
    const compared = bars.filter(({ caseLabel }) => caseLabel === label);
    expect(compared.map((bar) => "of" in bar && bar.of)).toEqual(peers);
    if (peers.length > 0) expect(printers.map(({ id }) => id)).toContain("codecell");
  }
});
