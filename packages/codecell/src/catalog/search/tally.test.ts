import { expect, test } from "vitest";
import { Tally } from "./tally.ts";

function takeAll(tally: Tally): [term: number, weight: number][] {
  const taken: [number, number][] = [];
  tally.take((term, weight) => taken.push([term, weight]));
  return taken;
}

test("adds up the weights of each term, in order of first use, and starts anew", () => {
  const tally = new Tally(3);
  tally.add(2, 1);
  tally.add(0, 0.5);
  tally.add(2, 3);
  expect(takeAll(tally)).toEqual([
    [2, 4],
    [0, 0.5],
  ]);
  expect(takeAll(tally)).toEqual([]);
  for (const term of [1, 2, 0]) tally.add(term, 1);
  expect(takeAll(tally)).toEqual([
    [1, 1],
    [2, 1],
    [0, 1],
  ]);
});
