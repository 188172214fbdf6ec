import { expect, test } from "vitest";
import { Words } from "./words.ts";

test("words have no part of what is hidden, however they are cut", () => {
  const words = new Words([{ text: "canary-0123456789" }]);
  for (let most = 0; most < 30; most++) {
    expect(words.cut("told: canary-0123456789, and more", most, "…")).not.toMatch(/cana|\d/u);
  }
  expect(words.cut("told", 4, "…")).toBe("told");
  expect(words.cut("told more", 4, "…")).toBe("told…");
  expect(words.told("a canary-0123456789")).toBe("a [hidden]");
  expect(words.data({ a: ["canary-0123456789"] })).toEqual({ a: ["[hidden]"] });
});
