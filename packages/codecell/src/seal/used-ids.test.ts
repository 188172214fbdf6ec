import { expect, test } from "vitest";
import { UsedIds } from "./used-ids.ts";

test("a used id stays used until it expires, and is forgotten some time after", () => {
  const used = new UsedIds();
  for (let now = 0; now < 10_000; now++) {
    used.add(`id ${now}`, now + 500, now);
    for (const age of [0, 1, 499]) if (now >= age) expect(used.has(`id ${now - age}`)).toBe(true);
  }
  const kept = Array.from({ length: 10_000 }, (_, n) => used.has(`id ${n}`)).filter(Boolean);
  expect(kept.length).toBeLessThan(3000);
});
