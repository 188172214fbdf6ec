/** The same programs through the contract's package and through us come to the same, but for what a table says. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import * as ours from "codecell/ai";
import { beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../sources.ts";
import { ALONE, CASES } from "./comparison/cases.ts";
import { DIFFERENCES } from "./comparison/differences.ts";
import { type Outcome, outcomeOf } from "./comparison/outcome.ts";
import { toolsFor } from "./comparison/tools.ts";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";

const PARTS = ["value", "error", "executed", "hooks", "traces"] as const;
const theirs = new Map<string, Outcome>();

/** In processes of their own: some programs leave things behind that others stumble over. */
beforeAll(async () => {
  const together = CASES.filter((one) => !ALONE.has(one));
  await Promise.all([
    outcomesOf(together.map(({ name }) => name)),
    (async () => {
      for (const { name } of ALONE) await outcomesOf([name]);
    })(),
  ]);
}, 300_000);

async function outcomesOf(names: readonly string[]): Promise<void> {
  const fixture = `${ROOT}test/ai-sdk/comparison/peer.fixture.ts`;
  const stdout = await new Promise<string>((resolve) => {
    const args = [...SOURCE_FLAGS, fixture, JSON.stringify(names)];
    const options = { timeout: 240_000, maxBuffer: 16 * 1024 * 1024 };
    // One that ends before its time leaves outcomes out, which is found where they are asked for.
    execFile(process.execPath, args, options, (_error, text) => resolve(text));
  });
  for (const line of stdout.split("\n").filter((text) => text.startsWith('{"name"'))) {
    const { name, outcome } = JSON.parse(line) as { name: string; outcome: Outcome };
    theirs.set(name, outcome);
  }
}

describe("comparison with experimental-ai-sdk-code-mode", () => {
  test("names are unique, and every difference is of a case", () => {
    const names = CASES.map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(Object.keys(DIFFERENCES).filter((name) => !names.includes(name))).toEqual([]);
    expect(names.length).toBeGreaterThan(200);
  });

  test("users are told of every difference, and of no other", () => {
    const text = readFileSync(`${ROOT}docs/guide/ai-sdk-differences.md`, "utf8").toLowerCase();
    const listed = text.slice(text.indexOf("## what differs")).match(/^- (?:.|\n {2})*/gmu) ?? [];
    const told = listed.map((line) => line.replaceAll(/\s+/gu, " ").slice(2).replace(/\.$/u, ""));
    const wanted = new Set(Object.values(DIFFERENCES).map(({ why }) => why.toLowerCase()));
    expect(told.sort()).toEqual([...wanted].sort());
  });

  test.for(CASES)("$name", async (one) => {
    const our = await outcomeOf(one, ours, toolsFor);
    const difference = DIFFERENCES[one.name];
    const differs = difference?.in ?? [];
    const isAsExpected = (): boolean =>
      PARTS.every(
        (part) => isDeepStrictEqual(our[part], theirs.get(one.name)?.[part]) !== differs.includes(part),
      );
    // A late answer to one of its programs can end its next one: such a program gets a second chance, alone.
    if (!isAsExpected()) await outcomesOf([one.name]);
    const their = theirs.get(one.name);
    if (their === undefined) throw new Error("The package's process ended");
    for (const part of PARTS) {
      if (differs.includes(part))
        expect(our[part], `no difference any more: ${part}`).not.toEqual(their[part]);
      else expect(our[part], part).toEqual(their[part]);
    }
    expect(our).toMatchObject(difference?.ours ?? {});
  });
});
