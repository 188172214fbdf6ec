import { spawn } from "node:child_process";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SOURCE_FLAGS } from "../../../../../scripts/source-flags.ts";
import { openDescriptionCache } from "./folder-cache.ts";

let parent: string;
let folder: string;

beforeEach(async () => {
  parent = await mkdtemp(`${tmpdir()}/codecell-cache-`);
  folder = path.join(parent, "cache");
});
afterEach(() => rm(parent, { recursive: true, force: true }));

const keyOf = (letter: string): string => letter.repeat(64);
const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : new TextDecoder().decode(bytes);
const fileOf = (letter: string): string => path.join(folder, `${keyOf(letter)}.description`);

describe("a cache in a folder", () => {
  test("keeps nothing and makes no folder before there is something to keep", async () => {
    const cache = openDescriptionCache({ folder });
    expect(await cache.get(keyOf("a"))).toBeUndefined();
    expect(await readdir(parent)).toEqual([]);
  });

  test("gives what was kept, also to others with the same folder", async () => {
    await openDescriptionCache({ folder }).put(keyOf("a"), bytesOf("one"));
    await openDescriptionCache({ folder }).put(keyOf("a"), bytesOf("two"));
    const other = openDescriptionCache({ folder: pathToFileURL(folder) });
    expect(textOf(await other.get(keyOf("a")))).toBe("two");
    expect(await other.get(keyOf("b"))).toBeUndefined();
    expect(await readdir(folder)).toEqual([`${keyOf("a")}.description`]);
  });

  test.runIf(process.getuid)("makes its folder and its files for its own user alone", async () => {
    await openDescriptionCache({ folder }).put(keyOf("a"), bytesOf("one"));
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(fileOf("a"))).mode & 0o777).toBe(0o600);
  });

  test.runIf(process.getuid)("does not use a folder or a file that others may write", async () => {
    const cache = openDescriptionCache({ folder });
    await cache.put(keyOf("a"), bytesOf("one"));
    await chmod(fileOf("a"), 0o620);
    await expect(cache.get(keyOf("a"))).rejects.toThrow(
      "others may write what is in it, take that right away",
    );
    await chmod(folder, 0o777);
    await expect(cache.get(keyOf("a"))).rejects.toThrow("others may write its folder, take that right away");
    await expect(cache.put(keyOf("b"), bytesOf("two"))).rejects.toThrow("others may write its folder");
  });

  test.runIf(process.getuid)("follows no link, and reads no folder", async () => {
    const cache = openDescriptionCache({ folder });
    await cache.put(keyOf("a"), bytesOf("one"));
    await symlink(fileOf("a"), fileOf("b"));
    await expect(cache.get(keyOf("b"))).rejects.toThrow("it cannot be read (ELOOP)");
    await rm(fileOf("a"));
    await mkdir(fileOf("a"));
    expect(await cache.get(keyOf("a"))).toBeUndefined();
  });

  test("removes what was not used for longest when there is too much", async () => {
    const cache = openDescriptionCache({ folder, maxBytes: 30 });
    for (const [letter, second] of [
      ["a", 1],
      ["b", 2],
      ["c", 3],
    ] as const) {
      await cache.put(keyOf(letter), bytesOf("0123456789"));
      await utimes(fileOf(letter), second, second);
    }
    expect(textOf(await cache.get(keyOf("a")))).toBe("0123456789");
    await cache.put(keyOf("d"), bytesOf("0123456789"));
    expect((await readdir(folder)).map((name) => name[0])).toEqual(["a", "c", "d"]);
    await cache.put(keyOf("e"), bytesOf("0123456789".repeat(3)));
    expect((await readdir(folder)).map((name) => name[0])).toEqual(["e"]);
    await expect(cache.put(keyOf("f"), bytesOf("x".repeat(31)))).rejects.toThrow(
      'one description takes 31 bytes, raise "maxBytes"',
    );
  });

  test("removes what a process left that ended while it wrote, and nothing that is not its own", async () => {
    const cache = openDescriptionCache({ folder, maxBytes: 30 });
    await cache.put(keyOf("a"), bytesOf("one"));
    const [old, fresh] = ["11", "22"].map((end) => `${fileOf("b")}.new-${end}`) as [string, string];
    const foreign = path.join(folder, "notes.txt");
    for (const file of [old, fresh, foreign]) await writeFile(file, "x".repeat(100));
    for (const file of [old, foreign]) await utimes(file, 1, 1);
    await cache.put(keyOf("c"), bytesOf("two"));
    const left = await readdir(folder);
    expect(left).toContain("notes.txt");
    expect(left).toContain(path.basename(fresh));
    expect(left).not.toContain(path.basename(old));
    expect(left).toContain(path.basename(fileOf("a")));
  });

  test("says in words without a path why it cannot be used", async () => {
    await writeFile(folder, "a file");
    const cache = openDescriptionCache({ folder });
    await expect(cache.get(keyOf("a"))).rejects.toMatchObject({ message: "it cannot be read (ENOTDIR)" });
    await expect(cache.put(keyOf("a"), bytesOf("one"))).rejects.toMatchObject({
      message: "it cannot be written (EEXIST)",
    });
    await expect(cache.get("../../etc/passwd")).rejects.toThrow("its key is none");
    expect(() => openDescriptionCache({ folder: "" })).toThrow('"folder" has to be a path');
    expect(() => openDescriptionCache({ folder, maxBytes: 0 })).toThrow('"maxBytes" is 0');
  });

  test.runIf(process.platform === "linux")("leaves nothing behind on a disk that is full", async () => {
    const main = `
      const { openDescriptionCache } = await import(${JSON.stringify(new URL("folder-cache.ts", import.meta.url).href)});
      const cache = openDescriptionCache({ folder: ${JSON.stringify(folder)} });
      await cache.put("a".repeat(64), new Uint8Array(1_000_000)).catch(({ message }) => console.log(message));
    `;
    // No file may grow beyond a kilobyte or so, as on a full disk: the first bytes are written, the others refused.
    const limited = `trap "" XFSZ; ulimit -f 1; exec "$0" "$@"`;
    const flags = [...SOURCE_FLAGS, "--input-type=module", "--eval", main];
    const child = spawn("sh", ["-c", limited, process.execPath, ...flags]);
    let [said, wrong] = ["", ""];
    child.stdout.on("data", (text: Buffer) => (said += String(text)));
    child.stderr.on("data", (text: Buffer) => (wrong += String(text)));
    await new Promise((done) => child.on("close", done));
    expect([said.trim(), wrong]).toEqual(["it cannot be written (EFBIG)", ""]);
    expect(await readdir(folder)).toEqual([]);
  });

  test("gives a whole entry to whoever reads while many processes write", async () => {
    const main = `
      const { openDescriptionCache } = await import(${JSON.stringify(new URL("folder-cache.ts", import.meta.url).href)});
      const cache = openDescriptionCache({ folder: ${JSON.stringify(folder)}, maxBytes: 450_000 });
      const fill = Number(process.argv[1]);
      for (let round = 0; round < 30; round++) {
        for (const letter of "abcdef") {
          await cache.put(letter.repeat(64), new Uint8Array(100_000).fill(fill));
          const bytes = await cache.get(letter.repeat(64));
          if (bytes !== undefined && (bytes.length !== 100_000 || new Set(bytes).size !== 1)) console.log("torn");
        }
      }
    `;
    const flags = [...SOURCE_FLAGS, "--input-type=module", "--eval", main];
    const ends = [1, 2, 3].map(async (fill) => {
      const child = spawn(process.execPath, [...flags, String(fill)]);
      let said = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (text: Buffer) => (said += String(text)));
      await new Promise((done) => child.on("close", done));
      return said;
    });
    expect(await Promise.all(ends)).toEqual(["", "", ""]);
    const left = await readdir(folder);
    // Whoever wrote last may have counted what another one removed.
    expect(left.length).toBeGreaterThan(0);
    expect(left.length).toBeLessThanOrEqual(4);
    expect(left.every((name) => name.endsWith(".description"))).toBe(true);
    for (const name of left) expect((await readFile(path.join(folder, name))).length).toBe(100_000);
  });
});
