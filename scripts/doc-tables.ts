/**
 * The README's tables of limits and failure codes, rendered from the code they describe.
 * Run: npm run docs
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { CALL_FAILURE_CODES, FAILURE_CODES } from "../packages/codecell/src/contract/failure.ts";
import { LIMIT_BOUNDS } from "../packages/codecell/src/contract/limits.ts";

const README = new URL("../README.md", import.meta.url);
const LIMITS = new URL("../packages/codecell/src/contract/limits.ts", import.meta.url);

type Row = readonly string[];

/** Each table by its name: the README holds it between `<!-- name -->` and `<!-- /name -->`. */
export function renderTables(): Readonly<Record<string, readonly Row[]>> {
  return {
    limits: [
      ["Limit", "Default", "Least", "Most", "What it bounds"],
      ...Object.entries(LIMIT_BOUNDS).map(([name, bound]) => [
        `\`${name}\``,
        renderNumber(name, bound.default),
        renderNumber(name, bound.min),
        renderNumber(name, bound.max),
        meaningOf(name),
      ]),
    ],
    failures: codeTable(FAILURE_CODES),
    "call-failures": codeTable(CALL_FAILURE_CODES),
  };
}

function codeTable(codes: Readonly<Record<string, string>>): Row[] {
  return [["Code", "Meaning"], ...Object.entries(codes).map(([code, meaning]) => [`\`${code}\``, meaning])];
}

/** The rows of a table in the README, or undefined when there is none of this name. */
export function readTable(name: string): Row[] | undefined {
  const text = readFileSync(README, "utf8");
  const [, body] = new RegExp(`<!-- ${name} -->([^]*?)<!-- /${name} -->`, "u").exec(text) ?? [];
  return body
    ?.split("\n")
    .filter((line) => line.startsWith("|") && !/^\|[\s:|-]+\|$/u.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim()),
    );
}

/** The comment above a limit. */
function meaningOf(name: string): string {
  const pattern = new RegExp(`/\\*\\* ([^*]+) \\*/\\s+readonly ${name}: number`, "u");
  const [, comment] = pattern.exec(readFileSync(LIMITS, "utf8")) ?? [];
  if (comment === undefined) throw new Error(`Cannot document limit "${name}": it has no comment`);
  return comment.replaceAll("|", "\\|");
}

function renderNumber(name: string, value: number): string {
  if (name.endsWith("Bytes")) {
    for (const [unit, bytes] of [
      ["GiB", 1024 ** 3],
      ["MiB", 1024 ** 2],
      ["KiB", 1024],
    ] as const) {
      if (value >= bytes && value % bytes === 0) return `${value / bytes} ${unit}`;
    }
    return `${value} B`;
  }
  return value.toLocaleString("en");
}

function writeTables(): void {
  let text = readFileSync(README, "utf8");
  for (const [name, rows] of Object.entries(renderTables())) {
    const [head = [], ...body] = rows;
    const lines = [head, head.map(() => "---"), ...body].map((cells) => `| ${cells.join(" | ")} |`);
    text = text.replace(
      new RegExp(`(<!-- ${name} -->)[^]*?(<!-- /${name} -->)`, "u"),
      (_all, open: string, close: string) => `${open}\n\n${lines.join("\n")}\n\n${close}`,
    );
  }
  writeFileSync(README, text);
  execFileSync(fileURLToPath(new URL("../node_modules/.bin/oxfmt", import.meta.url)), [
    fileURLToPath(README),
  ]);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) writeTables();
