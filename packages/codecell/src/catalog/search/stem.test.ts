import { describe, expect, test } from "vitest";
import { stem } from "./stem.ts";

describe("stem", () => {
  test.each([
    ["search", ["searches", "searched", "searching"]],
    [
      "calcul",
      ["calculate", "calculates", "calculated", "calculating", "calculation", "calculations", "calculator"],
    ],
    ["retriev", ["retrieve", "retrieves", "retrieved", "retrieval"]],
    ["repositori", ["repository", "repositories"]],
    ["run", ["running", "runs"]],
    ["creat", ["create", "created", "creating"]],
    ["agre", ["agreed", "agrees"]],
    ["biolog", ["biology"]],
    ["quick", ["quickly"]],
    ["nation", ["national", "nations"]],
    ["hope", ["hoping", "hoped"]],
    ["news", ["news"]],
  ])("%s", (expected, words) => {
    expect(words.map(stem)).toEqual(words.map(() => expected));
  });

  test("leaves short words, digits and other alphabets alone", () => {
    const words = ["", "a", "is", "h264", "поиск", "検索", "naïve"];
    expect(words.map(stem)).toEqual(words);
  });
});
