/**
 * Held-out vectors: for each set, word vectors that were trained without it.
 *
 * Measured with the vectors of the library, a set would be judged by what was learnt from it. These are made the same
 * way from the other five; only the words the set uses are kept.
 */

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import {
  type PackedVectors,
  unpackVectors,
  type WordVectors,
} from "../../packages/codecell/src/catalog/search/word-vectors.ts";
import type { SetName } from "./sets.ts";

export function loadVectorsWithout(name: SetName): WordVectors {
  const file = new URL(`../data/tool-search/${name}/vectors-without.json.gz`, import.meta.url);
  return unpackVectors(JSON.parse(gunzipSync(readFileSync(file)).toString("utf8")) as PackedVectors);
}
