import { expect, test } from "vitest";
import { bundledVectors } from "../../packages/codecell/src/catalog/search/bundled-vectors.ts";
import { unpackVectors } from "../../packages/codecell/src/catalog/search/word-vectors.ts";
import { packVectors } from "./pack.ts";

test("what is packed comes back, within half a step of its scale", () => {
  const values = Float32Array.from({ length: 30 }, (_, at) => Math.sin(at) * (at < 10 ? 1 : 3));
  const vectors = unpackVectors(packVectors(["a", "b", "c"], values));
  const { dimensions, values: back } = vectors;
  expect(dimensions).toBe(10);
  expect(["a", "b", "c", "d"].map((word) => vectors.offsetOf(word))).toEqual([0, 10, 20, undefined]);
  // Extremes may be cut off, down to 0.6 of a row's largest value.
  for (const [at, value] of values.entries()) expect(Math.abs((back[at] ?? 0) - value)).toBeLessThan(1.3);
  const error = values.reduce((sum, value, at) => sum + (value - (back[at] ?? 0)) ** 2, 0);
  const size = values.reduce((sum, value) => sum + value ** 2, 0);
  expect(error / size).toBeLessThan(0.02);
});

test("the table of the library has as many rows as words, all of them finite", () => {
  const vectors = bundledVectors();
  const { dimensions, values } = vectors;
  expect(values.length % dimensions).toBe(0);
  expect(values.every(Number.isFinite)).toBe(true);
  expect(vectors.offsetOf("email")).toBeDefined();
});
