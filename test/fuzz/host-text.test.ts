import { describe, expect, test } from "vitest";
import { createCatalog } from "../../packages/codecell/src/catalog/catalog.ts";
import { CALL_SURFACES } from "./call-surfaces.ts";
import { RULE_MS, tryCase } from "./fuzzer.ts";
import { hostText } from "./host-text.ts";
import { nastyJson } from "./nasty-values.ts";
import { Random } from "./random.ts";
import { SURFACES } from "./surfaces.ts";
import { largestTurnMs, type Prepared } from "./thread-time.ts";

const ATTEMPTS = { attempts: 4, enough: RULE_MS };
/** Cases for each surface; `npm run fuzz` goes on from there. */
const CASES_EACH = 3;

const tool = { description: "Gives something back", execute: (): null => null };

describe("what a program chooses, on the host's thread", () => {
  test.each(SURFACES.map(({ name }, at) => [name, at] as const))(
    "[host:short-turns] does not block it: %s",
    { timeout: 120_000 },
    async (_, at) => {
      const findings: unknown[] = [];
      for (let round = 0; round < CASES_EACH; round++) {
        // Seeds far apart give other kinds of values and other texts.
        const seed = at + SURFACES.length * (7 * round + at);
        const { finding } = await tryCase(hostText, seed);
        if (finding !== undefined) findings.push(finding);
      }
      expect(findings).toEqual([]);
    },
  );

  let seed = 0;

  test.each(CALL_SURFACES.map((surface) => [surface.name, surface] as const))(
    "[host:short-turns] an input of the most fields does not block it: %s",
    { timeout: 120_000 },
    async (_, { most, prepare }) => {
      const work = (): Prepared => prepare(nastyJson(new Random(++seed), most, "many fields"));
      expect(await largestTurnMs(work, ATTEMPTS)).toBeLessThan(RULE_MS);
    },
  );

  test("[host:short-turns] a search for a letter with twenty thousand marks", async () => {
    const catalog = createCatalog([{ kind: "core", owner: "core", tools: { tool } }]);
    await catalog.search("tool");
    const query = `a${"\u0345".repeat(9999)}${"\u0301".repeat(10_000)}`;
    expect(await largestTurnMs(() => () => catalog.search(query), ATTEMPTS)).toBeLessThan(RULE_MS);
  });

  test("[host:short-turns] the first search of ten thousand tools", { timeout: 120_000 }, async () => {
    const words = "get list create delete update user file order invoice message report table".split(" ");
    const tools = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [
        `${words[at % 12]}_${words[(at >> 3) % 12]}_${at}`,
        {
          ...tool,
          description: `Will ${words[(at >> 1) % 12]} the ${words[(at >> 5) % 12]} number ${at} of an account`,
        },
      ]),
    );
    // Words and their vectors are read once per process.
    await createCatalog([{ kind: "core", owner: "core", tools: { tool } }]).search("tool");
    const first = (): (() => unknown) => {
      const catalog = createCatalog([{ kind: "core", owner: "core", tools }]);
      return () => catalog.search("delete an invoice");
    };
    expect(await largestTurnMs(first, ATTEMPTS)).toBeLessThan(RULE_MS);
  });
});
