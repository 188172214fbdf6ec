import { execFile, spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect, promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SOURCE_FLAGS } from "../../../../../scripts/source-flags.ts";
import { resolveSecrets } from "../resolve-secrets.ts";
import type { SecretVault } from "../sources.ts";
import { openVault, type Vault } from "./vault.ts";

const VALUE = "canary-value-0123456789";

let folder: string;
let file: string;
let vault: Vault;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "codecell-vault-"));
  file = join(folder, "vault");
  vault = openVault({ file, env: {} });
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function withSecret(): Promise<void> {
  await vault.set("TOKEN", VALUE);
  await vault.grant("TOKEN", "github");
}

describe("a vault", () => {
  test("gives a secret to a connector that was granted it, and to no other [handles:41]", async () => {
    await withSecret();
    expect(vault.read("TOKEN", "github")).toBe(VALUE);
    expect(() => vault.read("TOKEN", "gitlab")).toThrow(
      expect.objectContaining({
        code: "NOT_GRANTED",
        message: 'the vault\'s secret "TOKEN" is not granted to "gitlab", grant it',
      }),
    );
    expect(await vault.revoke("TOKEN", "github")).toBe(true);
    expect(await vault.revoke("TOKEN", "github")).toBe(false);
    expect(() => vault.read("TOKEN", "github")).toThrow("not granted");
  });

  test("is read by others who have its file and its key", async () => {
    await withSecret();
    expect(openVault({ file, env: {} }).read("TOKEN", "github")).toBe(VALUE);
  });

  test("lists names and grants, and no values", async () => {
    await withSecret();
    await vault.set("A", "1");
    await vault.grant("TOKEN", "another");
    expect(vault.list()).toEqual([
      { name: "A", grants: [] },
      { name: "TOKEN", grants: ["another", "github"] },
    ]);
    expect(inspect(vault, { depth: 9, showHidden: true }) + JSON.stringify(vault)).not.toContain(VALUE);
  });

  test("keeps grants when a value changes, and forgets them with the secret", async () => {
    await withSecret();
    await vault.set("TOKEN", "another value");
    expect(vault.read("TOKEN", "github")).toBe("another value");
    expect(await vault.delete("TOKEN")).toBe(true);
    expect(await vault.delete("TOKEN")).toBe(false);
    expect(() => vault.read("TOKEN", "github")).toThrow('no secret "TOKEN"');
    await vault.set("TOKEN", VALUE);
    expect(() => vault.read("TOKEN", "github")).toThrow("not granted");
  });

  test("has nothing in its file that can be read without the key, not even names", async () => {
    await withSecret();
    const text = readFileSync(file, "latin1");
    for (const plain of [VALUE, "TOKEN", "github"]) expect(text).not.toContain(plain);
  });

  test("looks different each time it is written", async () => {
    await withSecret();
    const before = readFileSync(file);
    await vault.set("TOKEN", VALUE);
    const after = readFileSync(file);
    expect(after.subarray(24, 40).equals(before.subarray(24, 40))).toBe(false);
    expect(after.subarray(90, 110).equals(before.subarray(90, 110))).toBe(false);
  });

  test("takes values up to 64 KiB", async () => {
    await vault.set("LARGE", "ü".repeat(32 * 1024));
    await expect(vault.set("LARGE", `${"ü".repeat(32 * 1024)}x`)).rejects.toThrow("has 65537 bytes");
    await vault.grant("LARGE", "a");
    expect(vault.read("LARGE", "a").length).toBe(32 * 1024);
  });

  test.each(["", "a", "A-B", "1A", "A".repeat(129), "__proto__", "A\n", "Ä"])(
    "refuses the name %j",
    async (name) => {
      await expect(vault.set(name, "x")).rejects.toMatchObject({ code: "INVALID" });
      await expect(vault.grant(name, "x")).rejects.toMatchObject({ code: "INVALID" });
      expect(() => vault.read(name, "x")).toThrow(expect.objectContaining({ code: "INVALID" }));
    },
  );

  test.each(["A", "_", "__PROTO__", "A".repeat(128)])("takes the name %j", async (name) => {
    await vault.set(name, VALUE);
    expect(vault.list()).toEqual([{ name, grants: [] }]);
  });

  test.each(["", "a\0b", "\ud800"])("refuses the value %j", async (value) => {
    await expect(vault.set("A", value)).rejects.toMatchObject({ code: "INVALID" });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("without a file is empty", async () => {
    expect(vault.list()).toEqual([]);
    expect(() => vault.read("A", "x")).toThrow('the vault has no secret "A", set it');
    await expect(vault.grant("A", "x")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("the files of a vault", () => {
  test("are their owner's alone, and nothing else is left", async () => {
    await withSecret();
    expect(readdirSync(folder).toSorted()).toEqual(["vault", "vault.key"]);
    for (const name of ["vault", "vault.key"]) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    chmodSync(file, 0o644);
    await vault.set("B", "x");
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("are no links", async () => {
    await withSecret();
    const elsewhere = join(folder, "elsewhere");
    renameSync(file, elsewhere);
    const before = readFileSync(elsewhere);
    symlinkSync(elsewhere, file);
    expect(() => vault.list()).toThrow(expect.objectContaining({ code: "FILE" }));
    await expect(vault.set("B", "x")).rejects.toThrow("it is a link");
    expect(readFileSync(elsewhere).equals(before)).toBe(true);
    rmSync(file);
    renameSync(elsewhere, file);
    renameSync(`${file}.key`, elsewhere);
    symlinkSync(elsewhere, `${file}.key`);
    expect(() => vault.list()).toThrow("it is a link");
  });

  test("that do not exist yet are not made where a link leads", async () => {
    symlinkSync(join(folder, "nothing"), file);
    await expect(vault.set("B", "x")).rejects.toThrow("it is a link");
    symlinkSync(join(folder, "nothing"), `${file}-2.key`);
    await expect(openVault({ file: `${file}-2`, env: {} }).set("B", "x")).rejects.toThrow("it is a link");
    expect(readdirSync(folder)).not.toContain("nothing");
  });

  test("are not read where others can read the key", async () => {
    await withSecret();
    for (const mode of [0o640, 0o604, 0o660, 0o601]) {
      chmodSync(`${file}.key`, mode);
      expect(() => vault.read("TOKEN", "github")).toThrow(expect.objectContaining({ code: "KEY" }));
    }
  });

  test("need a folder, whose path is not told", async () => {
    const lost = openVault({ file: join(folder, "none", "vault"), env: {} });
    const error: unknown = await lost.set("A", "x").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "FILE" });
    expect((error as Error).message).not.toContain(folder);
  });
});

describe("a vault that is used for long", () => {
  test("opens its file once for all secrets of a connector", async () => {
    await withSecret();
    await vault.set("OTHER", `${VALUE}-2`);
    await vault.grant("OTHER", "github");
    let opened = 0;
    const counted: SecretVault = {
      read: () => expect.fail("each would be opened anew"),
      opened: () => (opened++, vault.opened()),
    };
    const options = { headers: { a: "$vault:TOKEN", b: "${vault:OTHER} $${x}", c: "$vault:TOKEN" } };
    const places = { texts: ["headers.*"], urls: [] };
    const { options: resolved } = resolveSecrets("github", options, places, { vault: counted });
    expect(resolved.headers).toEqual({ a: VALUE, b: `${VALUE}-2 \${x}`, c: VALUE });
    expect(opened).toBe(1);
    expect(() => resolveSecrets("shop", options, places, { vault: counted })).toThrow("is not granted");
  });

  test("removes what writers left that died long ago, and nothing else", async () => {
    const left = ["vault", "vault.key", "vault.lock-3-0"].map((name) => `${name}.new-1-${randomUUID()}`);
    const young = `vault.new-1-${randomUUID()}`;
    const others = [`vault2.new-1-${randomUUID()}`, "vault.new-copy"];
    for (const name of [...left, young, ...others]) writeFileSync(join(folder, name), "");
    for (const name of [...left, ...others]) utimesSync(join(folder, name), 1, 1);
    await withSecret();
    expect(readdirSync(folder).sort()).toEqual(["vault", "vault.key", young, ...others].sort());
  });

  test("says of a file that ends too early that it is damaged", async () => {
    await withSecret();
    const whole = readFileSync(file);
    for (const length of [1, 4, 8, 12, 15, 16, 17, 20, 60]) {
      writeFileSync(file, whole.subarray(0, length));
      expect(() => vault.list()).toThrow(/is no vault|is damaged/u);
    }
  });
});

describe("the key of a vault", () => {
  const keys = {
    hexadecimal: randomBytes(32).toString("hex"),
    base64: randomBytes(32).toString("base64"),
    "base64 for URLs": `${randomBytes(32).toString("base64url")}\n`,
  };

  test.each(Object.entries(keys))("may be in the environment, in %s", async (_, key) => {
    const env = { CODECELL_VAULT_KEY: key };
    const own = openVault({ file, env });
    await own.set("A", VALUE);
    await own.grant("A", "a");
    expect(readdirSync(folder)).toEqual(["vault"]);
    expect(openVault({ file, env }).read("A", "a")).toBe(VALUE);
  });

  test("that is another one is said to be", async () => {
    await withSecret();
    const other = openVault({ file, env: { CODECELL_VAULT_KEY: keys.hexadecimal } });
    const wrong = { code: "KEY", message: "Cannot open the vault: it was sealed with another key" };
    expect(() => other.list()).toThrow(expect.objectContaining(wrong));
    await expect(other.set("A", "x")).rejects.toMatchObject(wrong);
    expect(vault.read("TOKEN", "github")).toBe(VALUE);
  });

  test("that is gone is not replaced", async () => {
    await withSecret();
    rmSync(`${file}.key`);
    expect(() => vault.list()).toThrow("its key is not there");
    await expect(vault.set("A", "x")).rejects.toThrow("its key is not there");
    expect(readdirSync(folder)).toEqual(["vault"]);
  });

  test.each(["short", "x".repeat(64), `${"a".repeat(64)}b`])("that is none is refused: %s", (key) => {
    writeFileSync(file, "");
    const own = openVault({ file, env: { CODECELL_VAULT_KEY: key } });
    expect(() => own.list()).toThrow(expect.objectContaining({ code: "KEY" }));
    expect(() => own.list()).not.toThrow(key);
  });
});

describe("a vault whose file is not as it was written", () => {
  test("says so, whichever byte is another one", async () => {
    await withSecret();
    const bytes = readFileSync(file);
    for (let at = 0; at < bytes.length; at++) {
      const altered = Buffer.from(bytes);
      altered.writeUInt8(altered.readUInt8(at) ^ 1, at);
      writeFileSync(file, altered);
      expect(() => vault.read("TOKEN", "github"), `byte ${at}`).toThrow(
        expect.objectContaining({ code: "DAMAGED" }),
      );
    }
  });

  test("says so, wherever it ends", async () => {
    await withSecret();
    const bytes = readFileSync(file);
    for (let length = 0; length < bytes.length; length++) {
      writeFileSync(file, bytes.subarray(0, length));
      expect(() => vault.list(), `${length} bytes`).toThrow(expect.objectContaining({ code: "DAMAGED" }));
    }
    await expect(vault.set("A", "x")).rejects.toMatchObject({ code: "DAMAGED" });
    expect(readFileSync(file).length).toBe(bytes.length - 1);
  });

  test("is not believed if somebody without the key made its checksum right", async () => {
    await withSecret();
    const { createHash } = await import("node:crypto");
    const bytes = readFileSync(file);
    // Each part: the generation, the initialisation vector, the contents, the tag.
    for (const at of [17, 75, 90, bytes.length - 40]) {
      const altered = Buffer.from(bytes.subarray(0, -32));
      altered.writeUInt8(altered.readUInt8(at) ^ 1, at);
      writeFileSync(file, Buffer.concat([altered, createHash("sha256").update(altered).digest()]));
      expect(() => vault.list(), `byte ${at}`).toThrow(
        expect.objectContaining({ message: expect.stringContaining("it was altered") as unknown }),
      );
    }
  });

  test("of another version says which", async () => {
    await withSecret();
    const bytes = readFileSync(file);
    bytes[14] = 2;
    writeFileSync(file, bytes);
    expect(() => vault.list()).toThrow("its format is 2, this version of Codecell reads 1");
  });
});

describe("writers of a vault", () => {
  const writer = fileURLToPath(new URL("vault-writer.fixture.ts", import.meta.url));

  test("lose nothing of each other: in one process", async () => {
    await vault.set("SHARED", "x");
    const others = Array.from({ length: 12 }, () => openVault({ file, env: {} }));
    await Promise.all(
      others.flatMap((other, at) => [other.set(`S_${at}`, `${at}`), other.grant("SHARED", `c-${at}`)]),
    );
    expect(vault.list().map(({ grants }) => grants.length)).toEqual(
      [...Array.from(others, () => 0), 12].toSorted((a, b) => b - a),
    );
  });

  test("lose nothing of each other: in many processes", { timeout: 120_000 }, async () => {
    // All begin at once, without a key.
    const [processes, secrets] = [5, 6];
    await vault.set("SHARED", "x");
    const run = promisify(execFile);
    await Promise.all(
      Array.from({ length: processes }, (_, number) =>
        run(process.execPath, [...SOURCE_FLAGS, writer, file, `${number}`, `${secrets}`]),
      ),
    );
    const entries = new Map(vault.list().map(({ name, grants }) => [name, grants]));
    expect(entries.size).toBe(processes * secrets + 1);
    expect(entries.get("SHARED")).toHaveLength(processes * secrets);
    for (let number = 0; number < processes; number++) {
      for (let at = 0; at < secrets; at++)
        expect(vault.read(`SECRET_${number}_${at}`, "shop")).toBe(`value ${number} ${at}`);
    }
    expect(readdirSync(folder).toSorted()).toEqual(["vault", "vault.key"]);
  });

  test("go on after one that died while it wrote", { timeout: 60_000 }, async () => {
    await vault.set("SHARED", "x");
    const code = `
      import { linkSync, writeFileSync, readFileSync } from "node:fs";
      const { withVaultLock } = await import(${JSON.stringify(new URL("vault-lock.ts", import.meta.url).href)});
      const { generationOf } = await import(${JSON.stringify(new URL("vault-format.ts", import.meta.url).href)});
      await withVaultLock(${JSON.stringify(file)}, () => generationOf(readFileSync(${JSON.stringify(file)})), () => {
        process.stdout.write("locked");
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      });
    `;
    const child = spawn(process.execPath, [...SOURCE_FLAGS, "--input-type=module", "--eval", code]);
    await new Promise((locked) => child.stdout.once("data", locked));
    const waiting = vault.set("A", "1");
    const ended = new Promise((closed) => child.once("exit", closed));
    child.kill("SIGKILL");
    await ended;
    await waiting;
    await vault.set("B", "2");
    expect(vault.list().map(({ name }) => name)).toEqual(["A", "B", "SHARED"]);
    expect(readdirSync(folder).toSorted()).toEqual(["vault", "vault.key"]);
  });

  test("see one whole state, whenever they read", async () => {
    await withSecret();
    const state = { isOver: false };
    const writing = Promise.all(
      Array.from({ length: 20 }, (_, at) => openVault({ file, env: {} }).set(`S_${at}`, "x".repeat(5000))),
    ).finally(() => {
      state.isOver = true;
    });
    while (!state.isOver) {
      expect(vault.read("TOKEN", "github")).toBe(VALUE);
      await new Promise((turn) => setImmediate(turn));
    }
    await writing;
    expect(vault.list()).toHaveLength(21);
  });
});
