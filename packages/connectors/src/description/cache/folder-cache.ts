/**
 * A DescriptionCache in a folder. Runs on the host.
 *
 * - An entry is there as a whole or not at all, whoever else writes: it is written beside its place, and then renamed.
 * - The entries together have at most `maxBytes`. Those that were not used for longest are removed first.
 * - Whoever can write into the folder can say which tools there are: it has to be one's own, as each entry.
 */
import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { assertNames, type OptionNames } from "codecell/kit";
import { CacheFault, type DescriptionCache } from "./description-cache.ts";

export interface DescriptionCacheOptions {
  /** A folder for nothing else. It is made when there is something to keep, for one's own user alone. */
  readonly folder: string | URL;
  /** How many bytes all that is kept may have. 200,000,000 if absent. */
  readonly maxBytes?: number;
}

const NAMES: OptionNames<DescriptionCacheOptions> = { folder: true, maxBytes: true };
const DEFAULT_MAX_BYTES = 200_000_000;
const ENDING = ".description";
const ENTRY = /^[0-9a-f]{64}\.description$/u;
const UNFINISHED = /^[0-9a-f]{64}\.description\.new-[0-9a-f-]+$/u;
/** A process that writes for longer than this has ended. */
const MOST_WRITING_MS = 3_600_000;
/** For the group, or for all. */
const WRITABLE_BY_OTHERS = 0o022;

/** Makes a cache of a folder, for the option `cache` of any connectors, in any processes. Nothing is read or written yet. */
export function openDescriptionCache(options: DescriptionCacheOptions): DescriptionCache {
  assertNames(options, NAMES, "open a cache of descriptions");
  const { folder, maxBytes = DEFAULT_MAX_BYTES } = options;
  if (!(folder instanceof URL) && (typeof folder !== "string" || folder === ""))
    throw new TypeError('Cannot open a cache of descriptions: "folder" has to be a path');
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 1)
    throw new RangeError(
      `Cannot open a cache of descriptions: "maxBytes" is ${maxBytes}, it has to be a whole number from 1 on`,
    );
  return new FolderCache(folder instanceof URL ? fileURLToPath(folder) : path.resolve(folder), maxBytes);
}

class FolderCache implements DescriptionCache {
  readonly #folder: string;
  readonly #maxBytes: number;

  constructor(folder: string, maxBytes: number) {
    this.#folder = folder;
    this.#maxBytes = maxBytes;
  }

  async get(key: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const file = this.#placeOf(key);
    try {
      assertOwn(await stat(this.#folder), "its folder");
      // A link would say what is read, and a pipe would never end.
      const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
      const handle = await open(file, flags);
      try {
        return await this.#read(handle);
      } finally {
        await handle.close();
      }
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw faultOf(error, "read");
    }
  }

  async #read(handle: FileHandle): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > this.#maxBytes) return undefined;
    assertOwn(stats, "what is in it");
    const bytes = new Uint8Array(stats.size);
    for (let at = 0; at < bytes.length;) {
      const { bytesRead } = await handle.read(bytes, at, bytes.length - at, at);
      if (bytesRead === 0) return undefined;
      at += bytesRead;
    }
    const now = new Date();
    // On a disk that cannot be written nothing is removed either.
    await handle.utimes(now, now).catch(() => {});
    return bytes;
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    const file = this.#placeOf(key);
    if (bytes.length > this.#maxBytes)
      throw new CacheFault(`one description takes ${bytes.length} bytes, raise "maxBytes"`);
    const unfinished = `${file}.new-${randomUUID()}`;
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      assertOwn(await stat(this.#folder), "its folder");
      try {
        await writeFile(unfinished, bytes, { flag: "wx", mode: 0o600 });
        await rename(unfinished, file);
      } catch (error) {
        await rm(unfinished, { force: true }).catch(() => {});
        throw error;
      }
      await this.#makeRoom(path.basename(file));
    } catch (error) {
      throw faultOf(error, "written");
    }
  }

  /** Others may do the same at the same time: what is gone already is no fault. */
  async #makeRoom(newest: string): Promise<void> {
    const found: { readonly name: string; readonly size: number; readonly usedAt: number }[] = [];
    for (const name of await readdir(this.#folder)) {
      if (!ENTRY.test(name) && !UNFINISHED.test(name)) continue;
      const stats = await stat(path.join(this.#folder, name)).catch(() => undefined);
      if (stats === undefined) continue;
      if (ENTRY.test(name)) found.push({ name, size: stats.size, usedAt: stats.mtimeMs });
      else if (Date.now() - stats.mtimeMs > MOST_WRITING_MS) await this.#remove(name);
    }
    const oldest = found
      .filter(({ name }) => name !== newest)
      .sort((one, other) => one.usedAt - other.usedAt);
    let bytes = found.reduce((sum, { size }) => sum + size, 0);
    for (const { name, size } of oldest) {
      if (bytes <= this.#maxBytes) return;
      await this.#remove(name);
      bytes -= size;
    }
  }

  async #remove(name: string): Promise<void> {
    await rm(path.join(this.#folder, name), { force: true });
  }

  #placeOf(key: string): string {
    if (!/^[0-9a-f]{64}$/u.test(key)) throw new CacheFault("its key is none");
    return path.join(this.#folder, `${key}${ENDING}`);
  }
}

/** Windows knows neither these rights nor such owners. */
function assertOwn({ uid, mode }: Stats, what: string): void {
  const user = process.getuid?.();
  if (user === undefined) return;
  if (uid !== user) throw new CacheFault(`${what} belongs to another user`);
  if ((mode & WRITABLE_BY_OTHERS) !== 0)
    throw new CacheFault(`others may write ${what}, take that right away`);
}

function faultOf(cause: unknown, done: "read" | "written"): CacheFault {
  if (cause instanceof CacheFault) return cause;
  return new CacheFault(`it cannot be ${done} (${codeOf(cause) ?? "unknown"})`, { cause });
}

function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === "string" ? code : undefined;
}
