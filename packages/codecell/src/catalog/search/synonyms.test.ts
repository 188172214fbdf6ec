import { expect, test } from "vitest";
import { stem } from "./stem.ts";
import { synonymsOf } from "./synonyms.ts";

test("words of a group find each other, as stems", () => {
  expect(synonymsOf("delet")).toContain(stem("remove"));
  expect(synonymsOf(stem("photograph"))).toContain(stem("image"));
});

test("a word of several groups has all their other words, each once", () => {
  const others = synonymsOf(stem("video"));
  expect(new Set(others).size).toBe(others.length);
  expect(others).not.toContain(stem("video"));
  expect(synonymsOf("photosynthesi")).toEqual([]);
});
