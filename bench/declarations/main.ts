/** Tokens of the same 742 real tools, as Codecell and its peers print them. `npm run bench:declarations` */
import { readFileSync } from "node:fs";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { installPeers, readPeerVersions } from "../harness/peers.ts";
import { describeSetting, writeFile } from "../report/results.ts";
import { type ListedTool, type Printer, PRINTERS } from "./printers.ts";

interface Row {
  readonly printer: string;
  readonly tokens: number | undefined;
  readonly ms: number | undefined;
  readonly note: string;
}

const TOOLS = new URL("../../test/data/tools/tools.jsonl", import.meta.url);

function tokensOf(text: string): number {
  return countTokens(text, { disallowedSpecial: new Set() });
}

async function measure({ id, note, open }: Printer, tools: readonly ListedTool[]): Promise<Row> {
  try {
    const print = await open();
    const prose = tokensOf(await print([]));
    const startedAt = performance.now();
    const text = await print(tools);
    const ms = Math.round(performance.now() - startedAt);
    return { printer: id, tokens: tokensOf(text) - prose, ms, note };
  } catch (error) {
    return { printer: id, tokens: undefined, ms: undefined, note: `failed: ${(error as Error).message}` };
  }
}

function render(rows: readonly Row[]): string {
  const ours = rows[0]?.tokens ?? Number.NaN;
  return rows
    .map(({ printer, tokens, ms, note }) =>
      [
        printer.padEnd(32),
        (tokens?.toLocaleString("en") ?? "-").padStart(9),
        (tokens === undefined ? "" : `${(tokens / ours).toFixed(2)}x`).padStart(7),
        (ms === undefined ? "" : `${ms} ms`).padStart(9),
        ` ${note}`,
      ].join(""),
    )
    .join("\n");
}

const uninstalled = installPeers();
if (uninstalled !== undefined) console.log(`The peers could not be installed: ${uninstalled}`);
const tools = readFileSync(TOOLS, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as ListedTool);
const rows: Row[] = [];
for (const printer of PRINTERS) rows.push(await measure(printer, tools));
console.log(`${tools.length} tools, tokens (o200k):\n${render(rows)}`);
const setting = describeSetting({ quick: false, codecell: "source", peers: readPeerVersions() });
const results = { workload: "declarations", tools: tools.length, tokenizer: "o200k_base", setting, rows };
writeFile(
  new URL("../results/", import.meta.url),
  "declarations.json",
  `${JSON.stringify(results, null, 2)}\n`,
);
