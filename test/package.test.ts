/** What a user installs: the packed tarball, built afresh, unpacked elsewhere and used from there. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { linkDependencies, manifestOf, PACKAGE } from "./installed.ts";
import { ROOT } from "./sources.ts";

const execute = promisify(execFile);
const BIN = `${ROOT}node_modules/.bin`;

let folder: string;
let installed: string;
let tarball: string;

beforeAll(async () => {
  // From nothing, so that no file of a source that is gone is packed.
  await rm(`${PACKAGE}/dist`, { recursive: true, force: true });
  await execute(`${BIN}/tsc`, ["-b", PACKAGE]);
  folder = await mkdtemp(`${tmpdir()}/codecell-package-`);
  const { stdout } = await execute("npm", ["pack", "--json", "--pack-destination", folder], { cwd: PACKAGE });
  const packed: unknown = JSON.parse(stdout);
  const [first] = (Array.isArray(packed) ? packed : Object.values(packed as object)) as {
    filename: string;
  }[];
  tarball = `${folder}/${first?.filename}`;
  await writeFile(`${folder}/package.json`, '{ "type": "module" }');
  installed = `${folder}/node_modules/codecell`;
  await mkdir(installed, { recursive: true });
  await execute("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"]);
  await linkDependencies(folder, ["@types/node"]);
}, 120_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the packed package", () => {
  test("holds the built files, the licence and the README, and no tests", async () => {
    const files = (await readdir(installed, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.parentPath}/${entry.name}`.slice(installed.length + 1));
    expect(files).toContain("LICENSE");
    expect(files).toContain("README.md");
    expect(files.filter((path) => /\.test|tsbuildinfo|^src\//u.test(path))).toEqual([]);
    const { exports } = await manifestOf(installed);
    const targets = Object.values(exports).flatMap((target) =>
      typeof target === "string" ? [target] : [target["types"], target["default"]],
    );
    for (const target of targets) expect(files).toContain(target?.slice(2));
  });

  test("carries the repository's licence", async () => {
    expect(await readFile(`${installed}/LICENSE`, "utf8")).toBe(await readFile(`${ROOT}LICENSE`, "utf8"));
  });

  test("names whose code it embeds, with their licences", async () => {
    const notices = await readFile(`${installed}/THIRD_PARTY.md`, "utf8");
    for (const name of ["@babel/parser", "quickjs-wasi"]) {
      const licence = await readFile(`${folder}/node_modules/${name}/LICENSE`, "utf8");
      const [copyright] = /^Copyright.*$/mu.exec(licence) ?? [name];
      const [terms] = /Permission is hereby granted[^]*THE SOFTWARE\./u.exec(licence) ?? [name];
      expect(notices).toContain(copyright);
      expect(notices).toContain(terms);
    }
  });

  test("runs a program, and lets its process end [package:runs]", async () => {
    await writeFile(
      `${folder}/main.mjs`,
      `import { run } from "codecell";
       const double = { execute: (n) => 2 * n };
       const result = await run({ source: "return await tools.double(21)", tools: { double } });
       console.log(JSON.stringify(result.value), process.versions.node);`,
    );
    const { stdout } = await execute(process.execPath, ["main.mjs"], { cwd: folder, timeout: 100_000 });
    expect(stdout.trim()).toBe(`42 ${process.versions.node}`);
  });

  test("type-checks in a strict project that knows nothing of this repository", async () => {
    await writeFile(
      `${folder}/main.ts`,
      `import { createHost, defineTool, type RunResult } from "codecell";
       await using host = createHost();
       const double = defineTool({ execute: (n: number) => 2 * n });
       const result: RunResult = await host.start({ source: "", tools: { double } }).result;
       export const status: "completed" | "suspended" | "failed" = result.status;`,
    );
    const options = "--noEmit --strict --module nodenext --types node --lib es2024,esnext.disposable";
    const checked = execute(`${BIN}/tsc`, [...options.split(" "), "main.ts"], { cwd: folder });
    expect(await checked.catch((error: { stdout: string }) => error)).toMatchObject({ stdout: "" });
  });

  test("passes publint", async () => {
    const { messages, pkg } = await publint({ pkgDir: installed, level: "warning", strict: true });
    expect(messages.map((message) => formatMessage(message, pkg as Record<string, unknown>))).toEqual([]);
  });

  test("resolves its types the way its code resolves", async () => {
    await execute(`${BIN}/attw`, [tarball, "--profile", "esm-only", "--no-color"]);
  });
});
