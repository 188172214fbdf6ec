/**
 * The documents say what is: their code runs or is the code of a file, what is made from the code equals it, their links
 * lead somewhere.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anchorOf, anchorsIn, fileOf, isExternal, linksOf } from "../scripts/docs/links.ts";
import { OWN_READMES, PACKAGE_READMES } from "../scripts/docs/package-readme.ts";
import { renderPages } from "../scripts/docs/pages.ts";
import { SOURCE_FLAGS } from "../scripts/source-flags.ts";
import { filesBelow, ROOT } from "./sources.ts";

const execute = promisify(execFile);

const PAGES = filesBelow("docs", ".md");
const GUIDE = PAGES.filter((path) => /^docs\/guide\/(?!index\.)/u.test(path));
const DOCUMENTS = [
  "README.md",
  "ARCHITECTURE.md",
  "GLOSSARY.md",
  "SECURITY.md",
  "CONTRIBUTING.md",
  "AGENTS.md",
  "bench/README.md",
  ...OWN_READMES,
  ...PAGES,
];
const made = renderPages();

/** Longer than they take on a busy machine: only what hangs takes as long. */
const BLOCKS_TIMEOUT_MS = 300_000;
/** One for each core of the smallest machine that tests run on. */
const PROCESSES = 2;

const fences = DOCUMENTS.flatMap((path) =>
  [...read(path).matchAll(/^```(?<info>.*)\n(?<code>[^]*?)^```$/gmu)].map(({ groups, index }) => {
    const place = `${path}:${read(path).slice(0, index).split("\n").length}`;
    return { path, place, info: groups?.["info"] ?? "", code: groups?.["code"] ?? "" };
  }),
);

const blocks = fences
  .filter(({ info }) => info === "ts")
  .map(({ place, code }) => ({ place, file: `${place.replaceAll(/\W/gu, "-")}.ts`, code }));

/** Blocks that show lines of a file. */
const SHOWS = /^ts file=/u;
const shown = fences
  .filter(({ info }) => SHOWS.test(info))
  .map(({ path, place, info, code }) => ({ path, place, file: info.replace(SHOWS, ""), code }));

// Inside the repository, where package names resolve as they do for its users.
const folder = mkdtempSync(`${ROOT}test/.blocks-`);
for (const { file, code } of blocks) writeFileSync(join(folder, file), code);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(path: string): string {
  return readFileSync(`${ROOT}${path}`, "utf8");
}

/** Whole lines, without their indentation: a part of a file may stand further to the left in a document. */
function linesOf(code: string): string {
  return `\n${code.replaceAll(/^ +/gmu, "")}`;
}

/** What became of each block, by its file; and of the process, under an empty name. */
async function runBlocks(files: readonly string[]): Promise<[string, string | undefined][]> {
  const paths = files.map((file) => join(folder, file));
  const run = execute(process.execPath, [...SOURCE_FLAGS, `${ROOT}test/run-blocks.fixture.ts`, ...paths], {
    timeout: BLOCKS_TIMEOUT_MS,
  });
  const { stdout, problem } = await run.then(
    (ended) => ({ stdout: ended.stdout, problem: undefined }),
    (error: Error & { stdout: string }) => ({ stdout: error.stdout, problem: error.message }),
  );
  const lines = stdout.split("\n").filter((line) => line.startsWith('{"file"'));
  const outcomes = lines.map((line) => JSON.parse(line) as { file: string; problem?: string });
  const told = new Map(outcomes.map((outcome) => [outcome.file, outcome.problem]));
  return [
    ["", problem],
    ...files.map((file, index): [string, string | undefined] => {
      const path = paths[index] ?? "";
      return [file, told.has(path) ? told.get(path) : "its process ended before"];
    }),
  ];
}

describe("blocks of code in the documents", () => {
  const outcomes = new Map<string, string | undefined>();
  const ends: (string | undefined)[] = [];

  beforeAll(async () => {
    const groups = Array.from({ length: PROCESSES }, (_, group) =>
      blocks.filter((_block, index) => index % PROCESSES === group).map(({ file }) => file),
    );
    for (const [process, ...told] of await Promise.all(groups.map(runBlocks))) {
      ends.push(process?.[1]);
      for (const [file, problem] of told) outcomes.set(file, problem);
    }
  }, BLOCKS_TIMEOUT_MS);

  test.each(blocks)("the block at $place runs [docs:true]", ({ file, code }) => {
    expect(code, "a block asserts its own outcome").toContain("assert");
    expect(outcomes.has(file)).toBe(true);
    expect(outcomes.get(file)).toBeUndefined();
  });

  test("no block keeps its process alive", () => {
    expect(ends).toEqual(Array.from({ length: PROCESSES }, () => undefined));
  });
});

describe("code in the documents", () => {
  test("the blocks type-check in a strict project [docs:true]", { timeout: BLOCKS_TIMEOUT_MS }, async () => {
    const config = {
      extends: "../../tsconfig.test.json",
      include: ["*.ts", "../../packages/*/src/**/*.d.ts"],
      exclude: [],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const checked = execute(`${ROOT}node_modules/.bin/tsc`, ["-p", folder]);
    expect(await checked.catch((error: { stdout: string }) => error)).toMatchObject({ stdout: "" });
  });

  test.each(shown)("the block at $place shows lines of $file [docs:true]", ({ file, code }) => {
    expect(linesOf(read(file)), `copy the lines from ${file}`).toContain(linesOf(code));
  });

  test("the guide shows all of a driver that passes the tests of stores [store:driver]", () => {
    const files = shown.filter(({ path }) => path === "docs/guide/write-a-store.md");
    expect(files.map(({ file }) => file)).toEqual([
      "test/guide/json-store.ts",
      "test/guide/json-store.test.ts",
    ]);
    for (const { file, code } of files) expect(read(file).replace(/^\/\*\*.*\*\/\n/u, "")).toBe(code);
  });

  test("what is not TypeScript is a command or a drawing", () => {
    const isKnown = ({ info, code }: (typeof fences)[number]): boolean =>
      info === "text" ? /[│─]/u.test(code) : ["ts", "sh", "mermaid"].includes(info) || SHOWS.test(info);
    expect(fences.filter((fence) => !isKnown(fence)).map(({ place }) => place)).toEqual([]);
  });

  test("every command the documents name is a script", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const text = DOCUMENTS.map(read).join("\n");
    const named = [...text.matchAll(/npm (?:run )?(start|test|(?<=run )[\w:-]+)/gu)].map(
      ([, name]) => name ?? "",
    );
    expect(named).toEqual(expect.arrayContaining(["start", "test", "docs:site"]));
    expect([...new Set(named)].filter((name) => scripts[name] === undefined)).toEqual([]);
    const folders = [...text.matchAll(/--workspace ([\w/-]+)/gu)].map(([, name]) => name ?? "");
    expect(folders.filter((name) => !existsSync(`${ROOT}${name}/package.json`))).toEqual([]);
  });
});

describe("pages", () => {
  test("the README is short: what is told at length has a page", () => {
    expect(Buffer.byteLength(read("README.md"))).toBeLessThanOrEqual(8 * 1024);
  });

  test("the glossary is short: what one folder uses is explained there", () => {
    const rows = read("GLOSSARY.md").match(/^\| \*\*/gmu) ?? [];
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.length).toBeLessThanOrEqual(45);
  });

  test.each(GUIDE)("%s begins with a task and code that runs", (path) => {
    expect(read(path)).toMatch(/^# .+\n\n(?!#|```)[^]+?\n\n```ts\n/u);
    const [beginning = ""] = read(path).split("\n## ");
    expect(beginning).toContain("```ts\n");
  });

  test.each(Object.keys(made))("%s is what `npm run docs` makes [docs:true]", (path) => {
    expect(existsSync(`${ROOT}${path}`) ? read(path) : "", "run `npm run docs`").toBe(made[path]);
  });

  test("the page of every package is made from the same text, or is one of its own [docs:true]", () => {
    const readmes = filesBelow("packages", "README.md");
    expect([...Object.keys(PACKAGE_READMES), ...OWN_READMES].toSorted()).toEqual(readmes);
  });

  test.each(["guide", "reference", "internals", "decisions"])(
    "the index of %s names all its pages",
    (name) => {
      const index = `docs/${name}/index.md`;
      const linked = new Set(linksOf(read(index)).map(({ target }) => fileOf(index, target)));
      const pages = PAGES.filter((path) => path.startsWith(`docs/${name}/`) && path !== index);
      expect(pages.length).toBeGreaterThan(0);
      expect(pages.filter((path) => !linked.has(path))).toEqual([]);
    },
  );

  test("the README names every page of the guide", () => {
    const linked = new Set(linksOf(read("README.md")).map(({ target }) => target));
    expect(GUIDE.filter((path) => !linked.has(path))).toEqual([]);
  });

  test.each([...DOCUMENTS, ...Object.keys(PACKAGE_READMES)])("the links of %s lead somewhere", (path) => {
    const dead = linksOf(read(path))
      .filter(({ target }) => !isExternal(target))
      .filter(({ target }) => {
        const file = fileOf(path, target);
        if (!existsSync(`${ROOT}${file}`)) return true;
        const anchor = anchorOf(target);
        return anchor !== undefined && file.endsWith(".md") && !anchorsIn(read(file)).includes(anchor);
      });
    expect(dead).toEqual([]);
  });
});
