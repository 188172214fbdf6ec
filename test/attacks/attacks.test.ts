/**
 * The attack corpus: every case runs in a process of its own, two at a time. No case is skipped.
 *
 * ATTACKS=<part of an id> runs only some cases. ATTACKS_REPORT=<file> appends one line of figures per case.
 */
import { appendFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { loadCases, readCase } from "./case.ts";
import { launch } from "./launch.ts";

const AT_ONCE = 2;
const TIMEOUT_MS = 600_000;

let free = AT_ONCE;
const waiting: (() => void)[] = [];

async function inTurn<T>(action: () => Promise<T>): Promise<T> {
  if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
  else free--;
  try {
    return await action();
  } finally {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  }
}

const { ATTACKS: wanted = "", ATTACKS_REPORT: report } = process.env;

for (const folder of ["corpus/", "own/"]) {
  describe.concurrent(folder.slice(0, -1), () => {
    for (const file of loadCases(new URL(folder, import.meta.url))) {
      const attack = readCase(file);
      if (!attack.id.includes(wanted)) continue;
      test(attack.id, { timeout: TIMEOUT_MS }, async () => {
        const verdict = await inTurn(() => launch(file, attack));
        if (report !== undefined) {
          const { results, ...figures } = verdict;
          appendFileSync(report, `${JSON.stringify({ id: attack.id, ...figures, results })}\n`);
        }
        const { broken } = verdict;
        const source = (attack.code ?? attack.steps?.join("\n---\n") ?? "").slice(0, 1000);
        expect(
          broken,
          `${attack.description}\n${source}\nexpected ${JSON.stringify(attack.expect)}\ngot ${JSON.stringify(verdict, null, 1)}`,
        ).toEqual([]);
      });
    }
  });
}

test("the corpus is complete", () => {
  expect(loadCases(new URL("corpus/", import.meta.url))).toHaveLength(260);
});
