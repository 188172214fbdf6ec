import { test as property } from "@fast-check/vitest";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PROPERTY_SEED } from "./property-seed.ts";

/** The numbers that a property without a seed of its own tries. */
function tried(): number[] {
  const numbers: number[] = [];
  fc.assert(fc.property(fc.nat(), (number) => void numbers.push(number)));
  return numbers;
}

test("properties without a seed try the same cases each time", () => {
  expect(tried()).toEqual(fc.sample(fc.nat(), { seed: PROPERTY_SEED, numRuns: 100 }));
  expect(tried()).toEqual(tried());
});

const byName: number[] = [];
property.prop([fc.nat()])("properties of @fast-check/vitest too", (number) => void byName.push(number));
test("the test above tried the cases of that seed", () => {
  expect(byName).toEqual(fc.sample(fc.tuple(fc.nat()), { seed: PROPERTY_SEED, numRuns: 100 }).flat());
});
