/**
 * Runs on the host. Lets one process at a time write the next generation of a vault.
 *
 * - The lock of a generation is a file that only one can create. Whoever holds it makes this generation, and no other one.
 * - The lock of a process that died is left as it is, and the next attempt gets a lock of its own: nobody ever takes away
 *   the lock of somebody who lives, as no dead process comes back.
 */
import { lstatSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createOwnFile, readOwnFile } from "./own-file.ts";
import { VaultError } from "./vault-error.ts";

interface Owner {
  readonly pid: number;
  /** When the process began, where the system says it: numbers of processes are used again. */
  readonly start: string;
  /** Where the number means this process. */
  readonly place: string;
}

const WHAT = "the vault's lock";
const LONGEST_WAIT_MS = 15_000;
/** Far longer than anybody writes. */
const LONGEST_WRITE_MS = 3_600_000;
/** As own-file.ts calls them: of the vault, its key and its locks. */
const LEFT = /^(?:\.key|\.lock-\d+-\d+)?\.new-\d+-[0-9a-f-]{36}$/u;
const MOST_ATTEMPTS = 100;
const MOST_OWNER_BYTES = 4096;

/** `generationOf` reads which generation is there now. */
export async function withVaultLock<T>(
  file: string,
  generationOf: () => number,
  work: (generation: number) => T,
): Promise<T> {
  const until = performance.now() + LONGEST_WAIT_MS;
  for (;;) {
    const generation = generationOf();
    const lock = tryLock(file, generation + 1);
    // While the lock was made, somebody may have finished this generation.
    if (lock !== undefined && generationOf() === generation) {
      try {
        return work(generation);
      } finally {
        rmSync(lock, { force: true });
        removeOldLocks(file, generationOf());
        removeLeft(file);
      }
    }
    if (lock !== undefined) rmSync(lock, { force: true });
    else if (performance.now() > until)
      throw new VaultError(
        "BUSY",
        `Cannot write the vault: another process writes it, if none does delete ${basename(file)}.lock-*`,
      );
    await delay(2 + Math.random() * 20);
  }
}

/** Undefined if somebody who lives has it. */
function tryLock(file: string, generation: number): string | undefined {
  const own = Buffer.from(JSON.stringify(ownerOf(process.pid)));
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const path = `${file}.lock-${generation}-${attempt}`;
    if (createOwnFile(path, WHAT, own)) return path;
    const held = readOwnFile(path, WHAT, MOST_OWNER_BYTES);
    if (held === undefined || isAlive(parseOwner(held.bytes))) return undefined;
  }
  return undefined;
}

function removeOldLocks(file: string, generation: number): void {
  const prefix = `${basename(file)}.lock-`;
  for (const name of readdirSync(dirname(file))) {
    // What is being made has a longer name.
    const made = name.startsWith(prefix) ? /^(\d+)-\d+$/u.exec(name.slice(prefix.length)) : null;
    if (made !== null && Number(made[1]) <= generation) rmSync(join(dirname(file), name), { force: true });
  }
}

/** Files that were being written when their writers died. Only their age tells: their writers may be on another machine. */
function removeLeft(file: string): void {
  const prefix = basename(file);
  for (const name of readdirSync(dirname(file))) {
    if (!name.startsWith(prefix) || !LEFT.test(name.slice(prefix.length))) continue;
    const path = join(dirname(file), name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isFile() === true && Date.now() - stats.mtimeMs > LONGEST_WRITE_MS)
      rmSync(path, { force: true });
  }
}

function ownerOf(pid: number): Owner {
  return { pid, start: startOf(pid) ?? "", place: `${hostname()} ${pidNamespace()}` };
}

function parseOwner(bytes: Buffer): Owner | undefined {
  try {
    return JSON.parse(bytes.toString("utf8")) as Owner;
  } catch {
    return undefined;
  }
}

/** Of whom nothing is known, it is supposed. */
function isAlive(owner: Owner | undefined): boolean {
  if (owner === undefined || owner.place !== ownerOf(process.pid).place) return true;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
  return owner.start === "" || startOf(owner.pid) === owner.start;
}

/** Undefined where the system does not say it, and of a process that has ended and that nobody has missed yet. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [state = "", ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return /[ZXx]/u.test(state) ? undefined : fields[18];
  } catch {
    return undefined;
  }
}

function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}
