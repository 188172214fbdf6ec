/**
 * Bundled vectors: the word vectors that come with the library, unpacked on first use and kept. Runs anywhere.
 *
 * `scripts/search-vectors/` makes them; docs/decisions/0004-search.md says where they come from.
 */

import { BUNDLED_VECTORS } from "./bundled-vectors.generated.ts";
import { unpackVectors, type WordVectors } from "./word-vectors.ts";

let unpacked: WordVectors | undefined;

export function bundledVectors(): WordVectors {
  unpacked ??= unpackVectors(BUNDLED_VECTORS);
  return unpacked;
}
