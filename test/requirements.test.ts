import { describe, expect, test } from "vitest";
import { REQUIREMENTS } from "./requirements.ts";
import { filesBelow, titlesOf } from "./sources.ts";

/** Numbers are those of a specification; areas whose numbers are not listed yet are left aside. */
const CITATION = /\[([a-z]+:[a-z-]+|(?:exec-wait|handles):\d+)\]/gu;

const proofs = new Map<string, string[]>();
for (const path of [...filesBelow("packages"), ...filesBelow("test"), ...filesBelow("scripts")]) {
  if (!/\.(test|test-d)\.ts$/u.test(path)) continue;
  for (const title of titlesOf(path)) {
    for (const [, id = ""] of title.matchAll(CITATION)) proofs.set(id, [...(proofs.get(id) ?? []), path]);
  }
}

describe("requirements", () => {
  test("every promise has a proof", () => {
    expect(Object.keys(REQUIREMENTS).filter((id) => !proofs.has(id))).toEqual([]);
  });

  test("every proof names a promise", () => {
    const unknown = [...proofs].filter(([id]) => !Object.hasOwn(REQUIREMENTS, id));
    expect(unknown).toEqual([]);
  });
});
