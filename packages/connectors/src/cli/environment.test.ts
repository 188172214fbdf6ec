import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Concealed } from "./environment.ts";

describe("concealed texts", () => {
  const secrets = Concealed.ofSecrets({ A: "abcab", B: "cabx", C: 'say "x"' });

  test.each([
    ["abcab", "[A]"],
    ["-abcabcab-", "-[A]-"],
    ["abcabx", "[A]"],
    ["abcababcab", "[A][A]"],
    ['{"a":"say \\"x\\""}', '{"a":"[C]"}'],
    ["nothing", "nothing"],
  ])("of %j: %j", (text, shown) => {
    expect(secrets.in(text)).toBe(shown);
  });

  test("are known by their ends where a text was cut", () => {
    expect(secrets.in("bcab rest", { isCut: true })).toBe("[A] rest");
    expect(secrets.in("bcab rest")).toBe("bcab rest");
  });

  test("in plain variables are concealed in errors if they may be secrets", () => {
    const inErrors = Concealed.ofErrors({ S: "s1" }, { LEVEL: "debug", TOKEN: "12345678" });
    expect(inErrors.in("debug s1 12345678")).toBe("debug [S] [TOKEN]");
  });

  test("are nowhere in what is shown, wherever the text was cut", () => {
    const secret = fc.string({ unit: fc.constantFrom("x", "y", '"'), minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(secret, fc.array(fc.constantFrom("-", "x", "y", "S")), fc.nat(8), (word, parts, cut) => {
        const text = parts.map((part) => (part === "S" ? word : part)).join("");
        const shown = Concealed.ofSecrets({ N: word }).in(text.slice(cut), { isCut: cut > 0 });
        expect(shown).not.toContain(word);
      }),
    );
  });
});
