import { expect, test } from "vitest";
import { tryCase } from "./fuzzer.ts";
import { schemaValues } from "./schema-values.ts";

/** The rule is 50; a slow machine gets twice as much. */
const MOST_MS = 100;
const CASES = 90;

test(
  "[host:judged-in-steps] no schema and no value hold the host's thread together",
  { timeout: 240_000 },
  async () => {
    const findings: unknown[] = [];
    for (let seed = 0; seed < CASES; seed++) {
      const { finding } = await tryCase(schemaValues, seed, MOST_MS);
      if (finding !== undefined) findings.push(finding);
    }
    expect(findings).toEqual([]);
  },
);
