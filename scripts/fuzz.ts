/**
 * Runs all fuzzers of test/fuzz, one case after the other, until it is stopped. Prints what breaks the rule.
 *
 * `npm run fuzz -- --seed 1 --cases 1000 --only "tools.search"`. `--slowest` prints the slowest case of each kind,
 * `--verbose` prints every case before it is tried.
 */
import { parseArgs } from "node:util";
import { hostText } from "../test/fuzz/host-text.ts";
import { schemaValues } from "../test/fuzz/schema-values.ts";
import { type Fuzzer, tryCase } from "../test/fuzz/fuzzer.ts";

const { values: options } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
    cases: { type: "string", default: "Infinity" },
    only: { type: "string", default: "" },
    slowest: { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
  },
});

const FUZZERS: readonly Fuzzer[] = [hostText, schemaValues];

const first = Number(options.seed);
const cases = Number(options.cases);
const slowest = new Map<string, string>();
const most = new Map<string, number>();
let findings = 0;

console.log(`seed ${first}`);
for (let tried = 0; tried < cases; tried++) {
  const seed = first + tried;
  for (const fuzzer of FUZZERS) {
    const { title } = fuzzer.caseOf(seed);
    if (!title.includes(options.only)) continue;
    if (options.verbose) console.log(`${fuzzer.name} ${seed}: ${title}`);
    const { turnMs, finding } = await tryCase(fuzzer, seed);
    const kind = title.split(",")[0] ?? "";
    if (turnMs > (most.get(kind) ?? -1)) {
      most.set(kind, turnMs);
      slowest.set(kind, `${turnMs.toFixed(1)} ms, ${fuzzer.name} ${seed}: ${title}`);
    }
    if (finding === undefined) continue;
    findings++;
    console.log(`${fuzzer.name} ${seed}: ${title} held the thread for ${finding.turnMs.toFixed(1)} ms`);
  }
}
if (options.slowest) for (const line of slowest.values()) console.log(line);
console.log(`${cases} cases, ${findings} findings`);
process.exitCode = findings === 0 ? 0 : 1;
