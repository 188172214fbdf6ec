/**
 * The hash of a catalog's contents. A file of its own, because a browser needs another implementation. Runs on Node.js.
 */
import { createHash } from "node:crypto";

export function contentHash(parts: Iterable<string>): string {
  const hash = createHash("sha256");
  for (const part of parts) {
    // The length comes before each part, so that two different lists of parts never give the same input.
    hash.update(`${part.length}:`).update(part, "utf16le");
  }
  return hash.digest("hex");
}
