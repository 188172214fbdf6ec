/**
 * The bench: Codecell and its peers side by side. See README.md for what is measured and how.
 *
 * This process only installs, starts measuring processes and reports; nothing is measured in it.
 */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { BARS, judge, renderVerdicts } from "./bars.ts";
import type { Contestant } from "./contestants/contestant.ts";
import { createContestants, SELF } from "./contestants/index.ts";
import { DECLARATIONS } from "./declarations/comparisons.ts";
import { parseArguments, USAGE, type Arguments } from "./harness/arguments.ts";
import { measureWorkload } from "./harness/measure-workload.ts";
import { installPeers, probe, readPeerVersions } from "./harness/peers.ts";
import { toEmptyRow, type Row } from "./harness/rows.ts";
import { renderChart } from "./report/chart.ts";
import { describeSetting, toResults, writeFile, type Results, type Setting } from "./report/results.ts";
import { renderRankers } from "./report/rankers.ts";
import { renderTable } from "./report/table.ts";
import { WORKLOADS } from "./workloads/index.ts";
import { toolSearchQuality } from "./workloads/tool-search.ts";
import type { Workload } from "./workloads/workload.ts";
import { SOURCE_FLAGS } from "../scripts/source-flags.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const RESULTS = new URL("./results/", import.meta.url);
const LOCAL_RESULTS = new URL("./results/local/", import.meta.url);

async function main(args: Arguments): Promise<number> {
  const contestants = createContestants().filter((each) => args.only?.has(each.id) ?? true);
  if (args.help || args.list) {
    console.log(args.help ? USAGE : listAll(contestants));
    return 0;
  }
  const uninstalled = installPeers();
  const codecell = args.source ? "source" : build();
  const nodeFlags = codecell === "source" ? SOURCE_FLAGS : [];
  const setting = describeSetting({ quick: args.quick, codecell, peers: readPeerVersions() });
  console.log(
    `Node ${setting.node}, ${setting.cores} cores (${setting.cpu}), load ${setting.load.toFixed(2)}, Codecell from ${codecell}`,
  );
  if (setting.load > setting.cores / 2) console.log("The machine is busy: read ratios, not times.");
  const absent = await probeAll(contestants, nodeFlags, uninstalled);

  const measured = new Map<string, readonly Row[]>();
  if (args.declarations) measured.set(DECLARATIONS.name, countDeclarations(folderOf(args)));
  for (const workload of args.workloads) {
    const rows = await measureOne(workload, contestants, absent, nodeFlags, args, setting);
    measured.set(workload.name, rows);
  }
  const verdicts = BARS.filter((bar) => measured.has(bar.workload)).map((bar) => judge(bar, measured));
  if (verdicts.length > 0) console.log(renderVerdicts(verdicts));
  return args.check && verdicts.some(({ met }) => met !== true) ? 1 : 0;
}

async function measureOne(
  workload: Workload,
  contestants: readonly Contestant[],
  absent: ReadonlyMap<string, string>,
  nodeFlags: readonly string[],
  args: Arguments,
  setting: Setting,
): Promise<readonly Row[]> {
  const entered = contestants.filter(
    (each) =>
      (each.variant?.workloads.includes(workload.name) ?? true) && (workload.only?.includes(each.id) ?? true),
  );
  const cases = args.quick ? (workload.quickCases ?? workload.cases) : workload.cases;
  const present = await measureWorkload({
    workload,
    contestants: entered.filter((each) => !absent.has(each.id)),
    cases,
    rounds: args.rounds ?? workload.rounds,
    pace: args.pace,
    nodeFlags,
    onProgress: showProgress,
  });
  showProgress("");
  const rows = cases.flatMap(({ label }) =>
    entered.flatMap(({ id }): Row[] => {
      const reason = absent.get(id);
      if (reason !== undefined) return [toEmptyRow(id, label, reason)];
      return present.filter((row) => row.contestant === id && row.caseLabel === label);
    }),
  );
  console.log(renderTable(workload, rows, new Map(entered.map(({ id, name }) => [id, name])), SELF));
  const results = toResults(workload, cases, setting, entered, rows);
  if (workload.name === toolSearchQuality.name) console.log(renderRankers(rows));
  const folder = folderOf(args);
  writeFile(folder, `${workload.name}.json`, `${JSON.stringify(results, null, 2)}\n`);
  writeFile(folder, `${workload.name}.svg`, renderChart(results));
  return rows;
}

/** Counts tokens in a process of its own, as for everything that is measured. */
function countDeclarations(folder: URL): readonly Row[] {
  const flags = [...SOURCE_FLAGS, "bench/declarations/main.ts", ...(folder === RESULTS ? [] : ["--local"])];
  const { status } = spawnSync(process.execPath, flags, { cwd: ROOT, stdio: "inherit" });
  if (status !== 0) return [];
  const { rows }: Results = JSON.parse(readFileSync(new URL(`${DECLARATIONS.name}.json`, folder), "utf8"));
  return rows;
}

/** A quick run, or a run of some contestants only, does not replace the kept results. */
function folderOf(args: Arguments): URL {
  return args.quick || args.only !== undefined ? LOCAL_RESULTS : RESULTS;
}

/** For each contestant that cannot run here: why not. */
async function probeAll(
  contestants: readonly Contestant[],
  nodeFlags: readonly string[],
  uninstalled: string | undefined,
): Promise<ReadonlyMap<string, string>> {
  const absent = new Map<string, string>();
  for (const contestant of contestants) {
    if (contestant.variant !== undefined) continue;
    showProgress(`probing ${contestant.id}`);
    const reason = await probe(contestant, nodeFlags);
    if (reason === undefined) continue;
    const isUninstalled = contestant.kind === "peer" && uninstalled !== undefined;
    absent.set(contestant.id, isUninstalled ? `not installed: ${uninstalled}` : reason);
  }
  showProgress("");
  for (const { id, variant } of contestants) {
    const reason = variant === undefined ? undefined : absent.get(variant.of);
    if (reason !== undefined) absent.set(id, reason);
  }
  for (const { id, variant } of contestants) {
    if (variant === undefined && absent.has(id)) console.log(`${id}: ${absent.get(id)}`);
  }
  return absent;
}

/** Users run the build, so the build is measured. This matters most for cold start. */
function build(): "build" | "source" {
  const { status } = spawnSync("npm", ["run", "-s", "build"], {
    cwd: ROOT,
    stdio: "ignore",
    shell: process.platform === "win32",
  });
  if (status === 0) return "build";
  console.log("The build failed: measuring Codecell's source, which makes its cold start look worse.");
  return "source";
}

function listAll(contestants: readonly Contestant[]): string {
  const workloads = WORKLOADS.map(({ name, title }) => `  ${name}: ${title}`);
  const all = contestants.map(({ id, name }) => `  ${id}: ${name}`);
  return ["Workloads", ...workloads, "Contestants", ...all].join("\n");
}

function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

process.exitCode = await main(parseArguments(process.argv.slice(2)));
