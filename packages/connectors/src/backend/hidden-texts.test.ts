import { expect, test } from "vitest";
import { HiddenTexts } from "./hidden-texts.ts";

test("texts are hidden, as a whole and word by word, and short words are not", () => {
  const hidden = new HiddenTexts(["Bearer sk-12345", "sk-12345-and-more", "on"]);
  expect(hidden.hide("Bearer sk-12345 or sk-12345 or sk-12345-and-more, on and on")).toBe(
    "[hidden] or [hidden] or [hidden], on and on",
  );
  expect(hidden.hideIn({ a: ["sk-12345", 1, null], b: "on" })).toEqual({ a: ["[hidden]", 1, null], b: "on" });
});
