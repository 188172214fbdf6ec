import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { argumentProblem, type CliArgument, fillArguments } from "./arguments.ts";

class Refused extends Error {}

function refuse(problem: string): never {
  throw new Refused(problem);
}

const NAMES = ["a", "b", "c"];
const name = fc.constantFrom(...NAMES);
const word = fc.oneof(
  fc.constantFrom("--", "-", "--x=", "-n", "a", "", "--no-"),
  fc.string({ unit: fc.constantFrom("-", "=", "a", " ", "'", "$", "ü", "\0", "\uD800") }),
);
const argument = fc.oneof(
  word,
  fc.record({ input: name, mayBeginWithHyphen: fc.boolean() }, { requiredKeys: ["input"] }),
  fc.record({ input: name, prefix: word }),
  fc.record({ input: name, option: word }),
  fc.record({ input: name, flag: word }),
);
const scalar = fc.oneof(word, fc.integer(), fc.double(), fc.boolean());
const value = fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), fc.anything());
const input = fc.dictionary(name, value);
const properties = Object.fromEntries(NAMES.map((each) => [each, {}]));

function isSound(template: readonly CliArgument[]): boolean {
  return template.every((one) => argumentProblem(one, properties) === undefined);
}

/** The whole arguments that a template may give, as patterns of what a program may choose. */
function canComeFrom(template: readonly CliArgument[], filled: string): boolean {
  return template.some((one) => {
    if (typeof one === "string") return filled === one;
    if ("flag" in one) return filled === one.flag;
    if (filled === one.option) return true;
    if (one.prefix !== undefined) return filled.startsWith(one.prefix);
    return one.mayBeginWithHyphen === true || !filled.startsWith("-");
  });
}

describe("filled arguments", () => {
  test("are refused, or have no option that the command does not have, whatever the input is", () => {
    let made = 0;
    fc.assert(
      fc.property(fc.array(argument, { maxLength: 5 }), input, (drawn, given) => {
        const template = drawn as CliArgument[];
        fc.pre(isSound(template));
        let filled: string[];
        try {
          filled = fillArguments(template, given, refuse);
        } catch (error) {
          expect(error).toBeInstanceOf(Refused);
          return;
        }
        made++;
        for (const one of filled) {
          expect(one.isWellFormed()).toBe(true);
          expect(one).not.toContain("\0");
          expect(canComeFrom(template, one)).toBe(true);
        }
        const fixed = template.filter((one) => typeof one === "string");
        expect(filled.filter((one) => fixed.includes(one)).length).toBeGreaterThanOrEqual(fixed.length);
      }),
      { numRuns: 2000 },
    );
    expect(made).toBeGreaterThan(100);
  });

  test("are one for each text of a list, as it is", () => {
    const texts = fc.array(fc.string({ unit: "grapheme" }).filter((one) => !one.includes("\0")));
    fc.assert(
      fc.property(texts, (list) => {
        const filled = fillArguments(["x", { input: "a", prefix: "--a=" }, "y"], { a: list }, refuse);
        expect(filled).toEqual(["x", ...list.map((one) => `--a=${one}`), "y"]);
      }),
    );
  });
});
