import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { REQUIREMENTS } from "./requirements.ts";
import { filesBelow, ROOT } from "./sources.ts";

const CITATION = /\[(?<id>[a-z]+:[a-z-]+)\]/gu;
const TITLE = /\b(?:test|it|describe)(?:\.\w+)*(?:\([^()]*\))?\(\s*(?<quote>["'`])(?<title>.*?)\k<quote>/gsu;

const proofs = new Map<string, string[]>();
for (const path of [...filesBelow("packages"), ...filesBelow("test")]) {
  if (!/\.(test|test-d)\.ts$/u.test(path)) continue;
  for (const { groups } of readFileSync(`${ROOT}${path}`, "utf8").matchAll(TITLE)) {
    for (const [, id = ""] of groups?.["title"]?.matchAll(CITATION) ?? []) {
      proofs.set(id, [...(proofs.get(id) ?? []), path]);
    }
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
