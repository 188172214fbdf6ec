import { fc, test as propertyTest } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { toNormalForm } from "./normal-form.ts";

const FORMS = ["NFC", "NFKC", "NFKD"] as const;

/** Marks of two classes: normalising has to move every mark of one class behind those of the other. */
const [LOW, HIGH] = ["\u0345", "\u0301"];

describe("toNormalForm", () => {
  propertyTest.prop([fc.string({ unit: "grapheme" }), fc.constantFrom(...FORMS)])(
    "equals the engine's normal form for ordinary text",
    (text, form) => {
      expect(toNormalForm(text, form)).toBe(text.normalize(form));
    },
  );

  test.each(FORMS)("keeps only the first thirty marks of a run: %s", (form) => {
    const most = `a${LOW.repeat(15)}${HIGH.repeat(15)}`;
    expect(toNormalForm(most, form)).toBe(most.normalize(form));
    expect(toNormalForm(`${most}${HIGH.repeat(20_000)}b`, form)).toBe(`${most}b`.normalize(form));
  });

  test("counts every character that becomes a mark: no run keeps more than thirty", () => {
    const passed: string[] = [];
    for (let code = 0; code <= 0x10_ffff; code++) {
      const one = String.fromCodePoint(code);
      // Any other character ends a run.
      if (!isMovable(one)) continue;
      if (toNormalForm(one.repeat(40), "NFKD").length > toNormalForm(one.repeat(30), "NFKD").length) {
        passed.push(code.toString(16));
      }
    }
    expect(passed).toEqual([]);
  });
});

/**
 * Whether the character's first mark changes places with the mark that sorts last, or with the mark that sorts first.
 */
function isMovable(one: string): boolean {
  const [first = ""] = one.normalize("NFKD");
  return [`a\u0345${first}`, `a${first}\u0334`].some((text) => text.normalize("NFD") !== text);
}
