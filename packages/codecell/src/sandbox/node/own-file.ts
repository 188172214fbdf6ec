/**
 * Own file: finds another file of this package relative to this file. Runs on the host.
 *
 * - In a bundle there is no such file: this code has moved, and the files around it are not ours, whatever their names
 *   are. The same holds for an installation that a packer reduced to the files it saw imported.
 */
import { existsSync } from "node:fs";

const SELF = /\/sandbox\/node\/own-file\.(ts|js)$/u;

/** Takes a path below this package's sources or build, without the extension. */
export function ownFile(path: string, self: string | undefined = import.meta.url): URL | undefined {
  // `import.meta.url` is undefined in a CommonJS bundle.
  const ending = SELF.exec(self ?? "")?.[1];
  if (self === undefined || ending === undefined) return undefined;
  const file = new URL(`../../${path}.${ending}`, self);
  return existsSync(file) ? file : undefined;
}
