import { expect, test } from "vitest";
import { KeptCauses } from "./kept-causes.ts";

test("keeps the causes of 200 small calls, and only the last of thousands", () => {
  const causes = new KeptCauses<number>();
  for (let key = 0; key < 200; key++) expect(causes.add(key, `${key}`, 2)).toEqual([]);
  expect([causes.get(0), causes.get(199)]).toEqual(["0", "199"]);
  for (let key = 200; key < 5000; key++) causes.add(key, `${key}`, 2);
  expect([causes.get(200), causes.get(4700), causes.get(4800), causes.get(4999)]).toEqual([
    undefined,
    undefined,
    "4800",
    "4999",
  ]);
});

test("keeps the newest cause however large its call is, and counts a call once", () => {
  const causes = new KeptCauses<string>();
  causes.add("small", 1, 10);
  expect(causes.add("large", 2, 1_000_000)).toEqual(["small"]);
  expect(causes.add("large", 3, 1_000_000)).toEqual([]);
  expect([causes.get("small"), causes.get("large")]).toEqual([undefined, 3]);
  expect(causes.add("next", 4, 10)).toEqual(["large"]);
  expect(causes.get("next")).toBe(4);
});
