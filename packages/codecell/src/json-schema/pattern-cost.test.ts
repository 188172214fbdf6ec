import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { costOf, stepsFor } from "./pattern-cost.ts";

describe("the cost of a pattern", () => {
  test.each([
    ["^[a-z]+$", 1],
    ["^\\d{4}-\\d{2}-\\d{2}$", 0],
    ["^[A-Za-z0-9_-]{1,64}$", 0],
    ["^(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", 0],
    ["^[a-z0-9]+(-[a-z0-9]+)*$", 2],
    ["^([a-z]+\\.)*[a-z]+$", 2],
    ["^https?://", 0],
    ["foo", 1],
    ["^[^@]+@[^@]+$", 2],
    ["^(?=.*[A-Z])(?=.*\\d).{8,}$", 3],
    ["", 1],
  ])("%s grows with the power %i of the text's length", (pattern, power) => {
    expect(costOf(pattern)?.power).toBe(power);
  });

  test.each([
    "^(a+)+$",
    "^(a|a)*$",
    "^(a|b|ab)*$",
    "^(a*)*$",
    "^(?:[a-z]+-?)*$",
    "^(\\w+\\s?)+$",
    "^(-[a-z-]+)*$",
    "(?i:a)",
    // Invalid under the flag u, and valid with another meaning without it.
    "^(?:\\p{1,})*$",
    "^\\k<(?:a+)+>$",
    "^(?:\\u{1,})*$",
    "^\\_(?:a+)+$",
    "^(a{1,9}){9}$".repeat(3),
    "(".repeat(100) + ")".repeat(100),
    "a".repeat(5000),
    "^(((a{1,99}){1,99}){1,99})$",
  ])("%s has no known cost", (pattern) => {
    expect(costOf(pattern)).toBeUndefined();
  });

  test("an invalid pattern has no known cost", () => {
    for (const pattern of ["(", "a)", "[", "*", "a**", "\\"]) expect(costOf(pattern)).toBeUndefined();
  });

  test("a backtracking matcher never takes more steps than predicted", () => {
    let known = 0;
    fc.assert(
      fc.property(
        anyPiece,
        fc.boolean(),
        fc.string({ unit: fc.constantFrom("a", "b", "-"), maxLength: 14 }),
        (piece, isAnchored, text) => {
          const cost = costOf(`${isAnchored ? "^" : ""}${print(piece)}$`);
          if (cost === undefined) return;
          known++;
          const most = stepsFor(cost, text.length);
          expect(stepsToMatch(piece, text, isAnchored, most)).toBeLessThanOrEqual(most);
        },
      ),
      { numRuns: 2000 },
    );
    expect(known).toBeGreaterThan(500);
  });
});

type Piece =
  | { readonly kind: "atom"; readonly source: string }
  | { readonly kind: "all" | "any"; readonly parts: readonly Piece[] }
  | { readonly kind: "repeat"; readonly part: Piece; readonly least: number; readonly most: number };

const { piece: anyPiece } = fc.letrec<{ piece: Piece }>((tie) => ({
  piece: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({
      kind: fc.constant("atom" as const),
      source: fc.constantFrom(
        "a",
        "-",
        "[ab]",
        ".",
        "[^-]",
        "\\w",
        "\\p{L}",
        "\\x61",
        "\\u0061",
        "\\u{62}",
        "[\\]\\p{L}-]",
      ),
    }),
    fc.record({ kind: fc.constant("all" as const), parts: fc.array(tie("piece"), { maxLength: 4 }) }),
    fc.record({
      kind: fc.constant("any" as const),
      parts: fc.array(tie("piece"), { minLength: 1, maxLength: 3 }),
    }),
    fc
      .tuple(
        tie("piece"),
        fc.constantFrom([0, 1], [0, Infinity], [1, Infinity], [2, 2], [1, 3], [2, Infinity]),
      )
      .map(([part, [least = 0, most = 0]]) => ({ kind: "repeat" as const, part, least, most })),
  ),
}));

function print(piece: Piece): string {
  switch (piece.kind) {
    case "atom":
      return piece.source;
    case "all":
      return `(?:${piece.parts.map(print).join("")})`;
    case "any":
      return `(${piece.parts.map(print).join("|")})`;
    case "repeat": {
      const { part, least, most } = piece;
      const inner = part.kind === "repeat" ? `(?:${print(part)})` : print(part);
      return `${inner}{${least},${most === Infinity ? "" : most}}`;
    }
    default:
      return piece satisfies never;
  }
}

/** Counts the characters that the simplest backtracking matcher reads; stops when there are more than allowed. */
function stepsToMatch(piece: Piece, text: string, isAnchored: boolean, most: number): number {
  let steps = 0;
  const match = (one: Piece, at: number, then: (end: number) => boolean): boolean => {
    if (steps > most) return true;
    switch (one.kind) {
      case "atom":
        steps++;
        return at < text.length && new RegExp(`^${one.source}$`, "u").test(text[at] ?? "") && then(at + 1);
      case "all": {
        const from = (index: number, place: number): boolean => {
          const part = one.parts[index];
          return part === undefined ? then(place) : match(part, place, (end) => from(index + 1, end));
        };
        return from(0, at);
      }
      case "any":
        return one.parts.some((part) => match(part, at, then));
      case "repeat": {
        const again = (count: number, place: number): boolean => {
          const isMore =
            count < one.most &&
            match(one.part, place, (end) => (end > place || count < one.least) && again(count + 1, end));
          return isMore || (count >= one.least && then(place));
        };
        return again(0, at);
      }
      default:
        return one satisfies never;
    }
  };
  for (let start = 0; start <= (isAnchored ? 0 : text.length); start++) {
    if (match(piece, start, (end) => end === text.length)) break;
  }
  return steps;
}
