/** Real tools as one declaration: it compiles, and calls are checked against it. */
import { readFileSync } from "node:fs";
import type { ToolSet } from "codecell";
import { renderDeclarations, renderSignature } from "codecell/declare";
import { expect, test, vi } from "vitest";
import { ROOT } from "../sources.ts";
import { compile } from "./compile.ts";

vi.setConfig({ testTimeout: 60_000 });

interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output?: Readonly<Record<string, unknown>>;
}

const LISTED = readFileSync(`${ROOT}test/data/tools/tools.jsonl`, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as ListedTool);

const tools: ToolSet = Object.fromEntries(
  LISTED.map(({ name, description, input, output }) => [
    name,
    { description, input, output, execute: () => null },
  ]),
);

test("[declare:faithful] 742 real tools are declared together, at any length", async () => {
  const texts = [200_000, 100_000, 50_000, 5000].map((maxCharacters) => {
    const text = renderDeclarations(tools, { maxCharacters });
    expect(text.length).toBeLessThanOrEqual(maxCharacters);
    return text;
  });
  const errors = await compile([
    ...texts,
    `${renderDeclarations(tools, { maxCharacters: 1_000_000 })}\ntools.policy_search({ query: 1 })`,
  ]);
  expect(errors.slice(0, -1).flatMap((found) => Array.from(found.values()))).toEqual([]);
  expect([...(errors.at(-1)?.values() ?? [])]).toEqual([
    "TS2322: Type 'number' is not assignable to type 'string'.",
  ]);
});

test("[declare:bounded] each has a signature of one line", async () => {
  const lines = Object.entries(tools).map(([name, tool]) =>
    renderSignature(name, tool, { maxCharacters: 160 }),
  );
  for (const line of lines) {
    expect(line).not.toContain("\n");
    expect(line.length).toBeLessThanOrEqual(160);
  }
  const [errors] = await compile([`declare const tools:{\n${lines.join("\n")}\n}`]);
  expect([...(errors ?? [])]).toEqual([]);
});
