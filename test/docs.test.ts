/** The documents say what is: their code runs, their tables equal the code, their links lead somewhere. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { readTable, renderTables } from "../scripts/doc-tables.ts";
import { ROOT } from "./sources.ts";
import { SOURCE_FLAGS } from "../scripts/source-flags.ts";

const execute = promisify(execFile);
const READMES = ["README.md", "packages/codecell/README.md", "docs/ai-sdk.md", "docs/guide/write-a-store.md"];
const DOCUMENTS = [
  ...READMES,
  "ARCHITECTURE.md",
  "GLOSSARY.md",
  "SECURITY.md",
  "CONTRIBUTING.md",
  "AGENTS.md",
];

const blocks = READMES.flatMap((path) =>
  [...read(path).matchAll(/^```ts\n(?<code>.*?)^```$/gmsu)].map(({ groups, index }) => {
    const place = `${path}:${read(path).slice(0, index).split("\n").length}`;
    return { place, file: `${place.replaceAll(/\W/gu, "-")}.ts`, code: groups?.["code"] ?? "" };
  }),
);

// Inside the repository, where package names resolve as they do for its users.
const folder = mkdtempSync(`${ROOT}test/.blocks-`);
for (const { file, code } of blocks) writeFileSync(join(folder, file), code);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(path: string): string {
  return readFileSync(`${ROOT}${path}`, "utf8");
}

describe("documents", () => {
  test("READMEs and their like have code to run", () => {
    for (const path of READMES) expect(blocks.some(({ place }) => place.startsWith(path))).toBe(true);
  });

  test.each(blocks)("the block at $place runs and ends [docs:true]", async ({ file, code }) => {
    expect(code, "a block asserts its own outcome").toContain("assert");
    await execute(process.execPath, [...SOURCE_FLAGS, join(folder, file)], { timeout: 30_000 });
  });

  test("the blocks type-check in a strict project [docs:true]", async () => {
    const config = {
      extends: "../../tsconfig.test.json",
      include: ["*.ts", "../../packages/*/src/**/*.d.ts"],
      exclude: [],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const checked = execute(`${ROOT}node_modules/.bin/tsc`, ["-p", folder]);
    expect(await checked.catch((error: { stdout: string }) => error)).toMatchObject({ stdout: "" });
  });

  test.each(Object.entries(renderTables()))("the table of %s equals the code [docs:true]", (name, rows) => {
    expect(readTable(name), "run `npm run docs`").toEqual(rows);
  });

  test.each(DOCUMENTS)("the links of %s lead to files", (path) => {
    const links = [...read(path).matchAll(/\]\((?!https?:|#)([^)#\s]+)/gu)].map(([, target]) => target ?? "");
    const dead = links.filter((target) => !existsSync(join(ROOT, dirname(path), target)));
    expect(dead).toEqual([]);
  });

  test("every command the documents name is a script", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const text = DOCUMENTS.map(read).join("\n");
    const named = [...text.matchAll(/npm run ([\w:-]+)/gu)].map(([, name]) => name ?? "");
    expect([...new Set(named)].filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});
