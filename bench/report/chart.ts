/**
 * Draws a workload's first metric as an SVG: one group of horizontal bars per case. The scale is logarithmic, so that
 * contestants that are a hundred times apart stay readable. Colours follow the reader's light or dark mode.
 */

import type { Results } from "./results.ts";
import { renderNumber } from "./table.ts";

const WIDTH = 800;
const LEFT = 310;
const RIGHT = 150;
const LINE = 22;
const HEAD = 46;
const GROUP_HEAD = 26;
const FOOT = 26;

const STYLE = `
svg { font: 12px system-ui, sans-serif; }
.ground { fill: #ffffff; } .text { fill: #1f2328; } .faint { fill: #656d76; } .axis { stroke: #d0d7de; }
.self { fill: #0969da; } .peer { fill: #8c959f; } .floor { fill: #c8d1da; } .bad { fill: #cf222e; }
.part { opacity: 0.4; }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117; } .text { fill: #e6edf3; } .faint { fill: #8b949e; } .axis { stroke: #30363d; }
.self { fill: #58a6ff; } .peer { fill: #6e7681; } .floor { fill: #3d444d; } .bad { fill: #ff7b72; }
}`;

interface Bar {
  readonly name: string;
  readonly kind: string;
  readonly value: number | undefined;
  readonly remark: string;
}

export function renderChart(results: Results): string {
  const [metric] = results.metrics;
  if (metric === undefined) throw new RangeError(`Cannot draw ${results.workload}: no metric`);
  const groups = results.cases.map((which) => ({ label: which.label, bars: toBars(results, which.label) }));
  const values = groups
    .flatMap(({ bars }) => bars.flatMap((bar) => bar.value ?? []))
    .filter((value) => value > 0);
  const low = Math.log10(Math.min(...values)) - 0.3;
  const high = Math.max(Math.log10(Math.max(...values)), low + 1);
  const scale = (value: number) => ((Math.log10(value) - low) / (high - low)) * (WIDTH - LEFT - RIGHT);

  let y = HEAD;
  const parts: string[] = [];
  for (const { label, bars } of groups) {
    if (label !== "") {
      parts.push(`<text class="text" x="16" y="${y + 16}" font-weight="600">${escape(label)}</text>`);
      y += GROUP_HEAD;
    }
    parts.push(`<line class="axis" x1="${LEFT}" x2="${LEFT}" y1="${y}" y2="${y + bars.length * LINE}"/>`);
    for (const bar of bars) {
      parts.push(renderBar(bar, y, scale));
      y += LINE;
    }
    y += 8;
  }
  const better = metric.better === "lower" ? "shorter is better" : "longer is better";
  const unit = metric.unit === "per s" ? "runs per second" : metric.unit;
  const subtitle = `${metric.label}, ${unit}, logarithmic, ${better}`;
  const { node, cores, cpu, measuredAt, commit } = results.setting;
  const foot = `${measuredAt.slice(0, 10)}, commit ${commit}, Node ${node}, ${cores} cores, ${cpu}`;
  const height = y + FOOT;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escape(results.title)}">
<style>${STYLE}
</style>
<rect class="ground" width="${WIDTH}" height="${height}" rx="6"/>
<text class="text" x="16" y="22" font-size="14" font-weight="600">${escape(results.title)}</text>
<text class="faint" x="16" y="38" font-size="11">${escape(subtitle)}</text>
${parts.join("\n")}
<text class="faint" x="16" y="${height - 10}" font-size="10">${escape(foot)}</text>
</svg>
`;
}

function toBars(results: Results, label: string): readonly Bar[] {
  const key = results.metrics[0]?.key ?? "";
  return results.contestants.flatMap(({ id, name, kind }): Bar[] => {
    const row = results.rows.find((each) => each.contestant === id && each.caseLabel === label);
    if (row === undefined) return [];
    const failed = row.failed === 0 ? "" : `${row.failed} of ${row.attempted} failed`;
    return [{ name, kind, value: row.metrics[key], remark: row.leftOut ?? failed }];
  });
}

function renderBar(bar: Bar, y: number, scale: (value: number) => number): string {
  const width = bar.value === undefined || bar.value <= 0 ? 0 : Math.max(1, scale(bar.value));
  const weight = bar.kind === "self" ? ' font-weight="600"' : "";
  const name = `<text class="text" x="${LEFT - 8}" y="${y + 15}" text-anchor="end"${weight}>${escape(shorten(bar.name))}</text>`;
  const rect =
    width === 0
      ? ""
      : `<rect class="${bar.kind}${bar.remark === "" ? "" : " part"}" x="${LEFT}" y="${y + 4}" width="${width.toFixed(1)}" height="${LINE - 8}" rx="2"/>`;
  const number = width === 0 ? "" : renderNumber(bar.value);
  const remark =
    bar.remark === "" ? "" : ` <tspan class="bad" font-size="10">${escape(bar.remark.slice(0, 34))}</tspan>`;
  return `${name}${rect}<text class="text" x="${(LEFT + width + 6).toFixed(1)}" y="${y + 15}">${number}${remark}</text>`;
}

function shorten(name: string): string {
  return name.length <= 48 ? name : `${name.slice(0, 47)}…`;
}

function escape(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
