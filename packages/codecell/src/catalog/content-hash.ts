/** The hash of a catalog's contents; apart, since a browser has another one. */
import { createHash } from "node:crypto";

export function contentHash(parts: Iterable<string>): string {
  const hash = createHash("sha256");
  for (const part of parts) {
    // Behind its length, so that no two lists of parts read alike.
    hash.update(`${part.length}:`).update(part, "utf16le");
  }
  return hash.digest("hex");
}
