import { expect, test } from "vitest";
import { ownText } from "./own-text.ts";

test.each(["", "short", 'quotes " and \\ and \n', "必要", "\ud800 alone", "\u2028"])(
  "copies %j as it is",
  (text) => {
    expect(ownText(text, 100)).toBe(text);
  },
);

test("copies the beginning of a longer text, even if it ends inside a surrogate pair", () => {
  expect(ownText("abcdef", 3)).toBe("abc");
  expect(ownText("a🙂", 2)).toBe("a\ud83d");
});
