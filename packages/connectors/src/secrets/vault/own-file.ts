/**
 * Runs on the host. Files that belong to their owner alone: a vault, its key.
 *
 * - A link is never followed: whoever can make one would say what is read or overwritten.
 * - A file is there as a whole or not at all, with the mode 0600.
 */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { VaultError } from "./vault-error.ts";

export interface OwnFile {
  readonly bytes: Buffer;
  readonly stats: Stats;
}

/** Undefined if there is none. `what` is it, in the words of a message. */
export function readOwnFile(path: string, what: string, mostBytes: number): OwnFile | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    const why = codeOf(error) === "ELOOP" ? "it is a link, put the file itself there" : "correct its rights";
    throw new VaultError("FILE", `Cannot open ${what}: ${why}`, { cause: error });
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new VaultError("FILE", `Cannot open ${what}: it is no regular file`);
    if (stats.size > mostBytes)
      throw new VaultError("DAMAGED", `Cannot open ${what}: it has more than ${mostBytes} bytes`);
    const bytes = Buffer.alloc(stats.size);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(file, bytes, length, bytes.length - length, null);
    return { bytes: bytes.subarray(0, length), stats };
  } finally {
    closeSync(file);
  }
}

/** Replaces the file. */
export function replaceOwnFile(path: string, what: string, bytes: Uint8Array): void {
  refuseLink(path, what);
  const temporary = writeTemporary(path, what, bytes);
  try {
    renameSync(temporary, path);
    syncFolder(path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw new VaultError("FILE", `Cannot write ${what}: the file system refused`, { cause: error });
  }
}

/** False if there is a file already: of many who try, one succeeds. */
export function createOwnFile(path: string, what: string, bytes: Uint8Array): boolean {
  const temporary = writeTemporary(path, what, bytes);
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw new VaultError("FILE", `Cannot write ${what}: the file system refused`, { cause: error });
  } finally {
    rmSync(temporary, { force: true });
  }
}

function refuseLink(path: string, what: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
    throw new VaultError("FILE", `Cannot write ${what}: it is a link, put the file itself there`);
}

function writeTemporary(path: string, what: string, bytes: Uint8Array): string {
  const temporary = `${path}.new-${process.pid}-${randomUUID()}`;
  try {
    const file = openSync(temporary, "wx", 0o600);
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    return temporary;
  } catch (error) {
    rmSync(temporary, { force: true });
    throw new VaultError("FILE", `Cannot write ${what}: its folder has to be there and writable`, {
      cause: error,
    });
  }
}

/** So that the new name outlives a crash of the machine. Some systems do not open folders. */
function syncFolder(path: string): void {
  let folder: number | undefined;
  try {
    folder = openSync(dirname(path), constants.O_RDONLY);
    fsyncSync(folder);
  } catch {
    // Then it is written later.
  } finally {
    if (folder !== undefined) closeSync(folder);
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
