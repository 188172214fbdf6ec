/**
 * Counts the tokens of real tools, as Codecell and its peers print them: `npm run bench:declarations`.
 *
 * `--local` writes to results/local, which git ignores.
 */
import { readFileSync } from "node:fs";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { SELF } from "../contestants/index.ts";
import { installPeers, readPeerVersions } from "../harness/peers.ts";
import { toEmptyRow, toRow, type Row } from "../harness/rows.ts";
import { renderChart } from "../report/chart.ts";
import { describeSetting, toResults, writeFile } from "../report/results.ts";
import { renderTable } from "../report/table.ts";
import { COMPARISONS, type Comparison, DECLARATIONS } from "./comparisons.ts";
import type { ListedTool, Printer } from "./printers.ts";

const TOOLS = new URL("../../test/data/tools/tools.jsonl", import.meta.url);

function tokensOf(text: string): number {
  return countTokens(text, { disallowedSpecial: new Set() });
}

async function measure({ id, open }: Printer, { label, size }: Comparison): Promise<Row> {
  try {
    const print = await open();
    const prose = tokensOf(await print([]));
    const startedAt = performance.now();
    const text = await print(tools.slice(0, size));
    const ms = performance.now() - startedAt;
    const metrics = { tokens: tokensOf(text) - prose, ms };
    return toRow(id, label, [{ metrics, attempted: size, failed: 0 }]);
  } catch (error) {
    return toEmptyRow(id, label, `failed: ${(error as Error).message}`);
  }
}

const uninstalled = installPeers();
if (uninstalled !== undefined) console.log(`The peers could not be installed: ${uninstalled}`);
const tools = readFileSync(TOOLS, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as ListedTool);
const rows: Row[] = [];
for (const comparison of COMPARISONS) {
  const { label, printers } = comparison;
  const ofCase: Row[] = [];
  for (const printer of printers) ofCase.push(await measure(printer, comparison));
  rows.push(...ofCase);
  const names = new Map(printers.map(({ id, name }) => [id, name]));
  console.log(renderTable({ ...DECLARATIONS, title: label }, ofCase, names, SELF));
}
const printers = COMPARISONS.flatMap((each) => each.printers);
const listed = [...new Map(printers.map((printer) => [printer.id, printer])).values()].map(
  ({ id, name }) => ({
    id,
    name: id === SELF ? "Codecell" : name,
    kind: id.startsWith(SELF) ? "self" : "peer",
  }),
);
const cases = COMPARISONS.map(({ label, size }) => ({ label, size }));
const setting = describeSetting({ quick: false, codecell: "source", peers: readPeerVersions() });
const results = toResults(DECLARATIONS, cases, setting, listed, rows);
const folder = new URL(
  process.argv.includes("--local") ? "../results/local/" : "../results/",
  import.meta.url,
);
writeFile(folder, "declarations.json", `${JSON.stringify(results, null, 2)}\n`);
writeFile(folder, "declarations.svg", renderChart(results));
