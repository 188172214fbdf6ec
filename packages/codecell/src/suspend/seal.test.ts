import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Sealer } from "./seal.ts";

const key = new Uint8Array(32).fill(7);

describe("seal", () => {
  test("gives back what was sealed", () => {
    const sealer = new Sealer(key);
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (content) => {
        expect(sealer.open(sealer.seal(content))).toBe(content);
      }),
    );
  });

  test("another process with the same key opens it, one with another key does not", () => {
    const token = new Sealer(key).seal("state");
    expect(new Sealer(key).open(token)).toBe("state");
    expect(new Sealer(new Uint8Array(32).fill(8)).open(token)).toBeUndefined();
    expect(new Sealer().open(token)).toBeUndefined();
  });

  test("every change of a single character is refused", () => {
    const sealer = new Sealer(key);
    const token = sealer.seal(JSON.stringify({ role: "viewer" }));
    for (let index = 0; index < token.length; index++) {
      for (const character of ["A", "b", "0", ".", "_", ""]) {
        const changed = token.slice(0, index) + character + token.slice(index + 1);
        if (changed !== token) expect(sealer.open(changed)).toBeUndefined();
      }
    }
  });

  test("never throws, whatever the token", () => {
    const sealer = new Sealer(key);
    fc.assert(
      fc.property(fc.string(), (token) => {
        expect(sealer.open(token)).toBeUndefined();
      }),
    );
  });

  test("a short key is refused", () => {
    expect(() => new Sealer(new Uint8Array(8))).toThrow("at least 16");
  });
});
