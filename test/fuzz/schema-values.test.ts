import { expect, test } from "vitest";
import { tryCase } from "./fuzzer.ts";
import { schemaValues } from "./schema-values.ts";

const CASES = 90;

test(
  "[host:judged-in-steps] no schema together with any value blocks the host's thread",
  { timeout: 240_000 },
  async () => {
    const findings: unknown[] = [];
    for (let seed = 0; seed < CASES; seed++) {
      const { finding } = await tryCase(schemaValues, seed);
      if (finding !== undefined) findings.push(finding);
    }
    expect(findings).toEqual([]);
  },
);
