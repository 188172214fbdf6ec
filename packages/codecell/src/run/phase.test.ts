import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { isMoving, NEXT_PHASES, type Phase } from "./phase.ts";

test("the picture in the documents shows exactly the ways between phases that the code has", async () => {
  const page = await readFile(new URL("../../../../docs/internals/run.md", import.meta.url), "utf8");
  const drawn = [...page.matchAll(/^ {2}(\w+) --> (\w+)$/gm)].map(([, from, to]) => `${from} ${to}`);
  const coded = Object.entries(NEXT_PHASES).flatMap(([from, next]) => next.map((to) => `${from} ${to}`));
  expect(drawn.toSorted()).toEqual(coded.toSorted());
});

test("every phase can be reached from the start, and the end from every phase", () => {
  const reachable = (from: keyof typeof NEXT_PHASES, seen = new Set([from])): ReadonlySet<string> => {
    for (const next of NEXT_PHASES[from]) if (!seen.has(next)) reachable(next, seen.add(next));
    return seen;
  };
  const names = Object.keys(NEXT_PHASES) as Phase["name"][];
  expect([...reachable("starting")].toSorted()).toEqual(names.toSorted());
  for (const name of names) expect(reachable(name)).toContain("ended");
});

test("a run that no longer moves never moves again", () => {
  const still = Object.entries(NEXT_PHASES).filter(([name]) => !isMoving({ name } as Phase));
  expect(still.length).toBeGreaterThan(0);
  for (const [, next] of still) for (const name of next) expect(isMoving({ name } as Phase)).toBe(false);
});
