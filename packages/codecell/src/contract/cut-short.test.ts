import { expect, test } from "vitest";
import { cutShort } from "./cut-short.ts";

test.each([
  ["abc", 3, "abc"],
  ["abcd", 3, "abc…"],
  ["ab😀d", 3, "ab…"],
  ["ab😀d", 4, "ab😀…"],
  ["a😀", 3, "a😀"],
  ["😀", 1, "…"],
  ["a", 0, "…"],
])("%j in %i characters is %j", (text, length, cut) => {
  expect(cutShort(text, length)).toBe(cut);
});
