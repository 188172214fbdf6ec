/**
 * Own file: finds another file of this package by where it lies beside this one.
 *
 * - In a bundle there is none: this code has moved, and what lies around it is not ours, whatever it is called. The same
 *   where an installation was thinned out to what its packer saw being imported.
 */
import { existsSync } from "node:fs";

const SELF = /\/sandbox\/node\/own-file\.(ts|js)$/u;

/** Takes the path below this package's sources or build, without its ending. */
export function ownFile(path: string, self: string | undefined = import.meta.url): URL | undefined {
  // Undefined in a CommonJS bundle.
  const ending = SELF.exec(self ?? "")?.[1];
  if (self === undefined || ending === undefined) return undefined;
  const file = new URL(`../../${path}.${ending}`, self);
  return existsSync(file) ? file : undefined;
}
