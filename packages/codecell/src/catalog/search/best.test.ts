import fc from "fast-check";
import { expect, test } from "vitest";
import { bestOf } from "./best.ts";

test("bestOf equals sorting all scores above zero and cutting at the limit", () => {
  const scores = fc.array(fc.integer({ min: -2, max: 6 }), { maxLength: 40 });
  fc.assert(
    fc.property(scores, fc.nat(12), (values, limit) => {
      const sorted = values
        .map((score, document) => ({ document, score }))
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score || a.document - b.document);
      expect(bestOf(Float64Array.from(values), limit)).toEqual(sorted.slice(0, limit));
    }),
  );
});
