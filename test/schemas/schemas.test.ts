/** All hard schemas: what is printed compiles, accepts what is valid, refuses what is not, and is short. */
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { renderType } from "codecell/declare";
import { describe, expect, test, vi } from "vitest";
import { CASES, judge } from "./corpus.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Tokens of the best printer known that is as faithful, by level of documentation. */
const BARS = [
  { docs: "full", most: 210_857 },
  { docs: 120, most: 160_985 },
  { docs: "none", most: 84_285 },
] as const;

/** What no type can refuse: texts that are longer than allowed. */
const BEYOND_TYPES = ["squareup.ListCards.out", "netbox.users_tokens_partial_update.out"];

const anyText = { disallowedSpecial: new Set<string>() };

describe("hard schemas", () => {
  test.each(BARS)(
    "[declare:faithful] with docs $docs all compile and judge values as their schemas do",
    async ({ docs }) => {
      const types = CASES.map(({ schema }) => renderType("T", schema, { docs }));
      const verdicts = await judge(CASES, types);
      expect(verdicts.filter(({ faults }) => faults.length > 0)).toEqual([]);
      expect(verdicts.filter(({ rejected }) => rejected.length > 0)).toEqual([]);
      const missed = verdicts.flatMap(({ name, missed: values }) => values.map(() => name));
      expect(missed).toEqual(BEYOND_TYPES);
    },
  );

  test.each(BARS)("[declare:compact] with docs $docs they take fewer than $most tokens", ({ docs, most }) => {
    const tokens = CASES.reduce(
      (sum, { schema }) => sum + countTokens(renderType("T", schema, { docs }), anyText),
      0,
    );
    console.log(`${CASES.length} schemas, docs ${docs}: ${tokens} tokens`);
    expect(tokens).toBeLessThan(most);
  });

  test("no schema becomes unknown or any", () => {
    for (const { name, schema } of CASES) {
      const text = renderType("T", schema, { docs: "none" });
      expect(text, name).not.toMatch(/^type T=unknown/u);
      expect(text, name).not.toMatch(/\bany\b(?!["?]?:)(?!")/u);
    }
  });

  test("[declare:bounded] in 400 characters they still compile and accept what is valid", async () => {
    const types = CASES.map(({ schema }) => renderType("T", schema, { maxCharacters: 400 }));
    for (const type of types) expect(type.length).toBeLessThanOrEqual(400);
    const verdicts = await judge(CASES, types);
    expect(verdicts.filter(({ faults }) => faults.length > 0)).toEqual([]);
    expect(verdicts.filter(({ rejected }) => rejected.length > 0)).toEqual([]);
  });
});
