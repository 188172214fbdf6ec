import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SearchDocument } from "./document.ts";
import { createSearchIndex } from "./search-index.ts";
import { splitWords } from "./words.ts";

const WORDS = ["get", "create", "issue", "email", "sendMail", "weather", "refund", "搜索", "naïve", "x1"];
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.array(fc.constantFrom(...WORDS), { maxLength: 8 }).map((words) => words.join(" ")),
);
const documents: fc.Arbitrary<SearchDocument[]> = fc.uniqueArray(
  fc.record(
    {
      id: text,
      name: text,
      description: text,
      owner: text,
      kind: text,
      tags: fc.array(text, { maxLength: 3 }),
      inputSchema: fc.oneof(
        fc.anything(),
        fc.record({
          properties: fc.dictionary(text, fc.record({ description: text, enum: fc.array(text) })),
        }),
      ),
    },
    { requiredKeys: ["id", "name", "description"] },
  ),
  { maxLength: 12, selector: ({ id }) => id },
);

describe("search, whatever the texts are", () => {
  test("never throws; sorted, unique, within the limit, known ids, the same each time", () => {
    const query = fc.oneof(text, fc.string({ unit: "grapheme", maxLength: 200 }));
    fc.assert(
      fc.property(documents, query, fc.nat(15), (tools, wanted, limit) => {
        const hits = createSearchIndex(tools).search(wanted, { limit });
        const ids = hits.map(({ id }) => id);
        expect(hits.length).toBeLessThanOrEqual(limit);
        expect(new Set(ids).size).toBe(ids.length);
        expect(tools.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
        const scores = hits.map(({ score }) => score);
        expect(scores).toEqual([...scores].sort((a, b) => b - a));
        expect(scores.every((score) => score > 0)).toBe(true);
        expect(createSearchIndex(tools).search(wanted, { limit })).toEqual(hits);
      }),
      { numRuns: 300 },
    );
  });

  test("a tool comes first for its own id, and for its name unless another tool has the same name", () => {
    fc.assert(
      fc.property(documents, (tools) => {
        const index = createSearchIndex(tools);
        for (const { id, name } of tools) {
          if (id.trim() === id) expect(index.search(id, { limit: 1 })[0]?.id).toBe(id);
          if (splitWords(name).length === 0) continue;
          expect(index.search(name).find((hit) => hit.exact)).toBeDefined();
          expect(index.search(name, { limit: 1 })[0]?.exact).toBe(true);
        }
      }),
      { numRuns: 100 },
    );
  });

  test("ASCII text is split the same way with and without other letters beside it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary-ascii", maxLength: 80 }), (ascii) => {
        expect(splitWords(`${ascii} é`)).toEqual([...splitWords(ascii), "e"]);
      }),
      { numRuns: 2000 },
    );
  });
});

/** Processor time, not the clock, because other processes may keep the machine busy. */
function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

describe("search stays quick", () => {
  const huge = (unit: string): string => unit.repeat(Math.ceil(1_000_000 / unit.length));
  const units = ["a", "word ", "aB", "搜", "é", "a_", "\u0301", "👩‍👩‍👧 ", "1a", "ThisIsAVeryLongIdentifier"];

  test.each(units)("[search:bounded] with a megabyte of %j as query and description", (unit) => {
    const begun = usedMs();
    const tools = [
      { id: "1", name: "issue", description: huge(unit) },
      { id: "2", name: huge(unit), description: "issue", tags: [huge(unit)] },
    ];
    const index = createSearchIndex(tools);
    index.search(huge(unit));
    expect(index.search("issue")[0]?.id).toBe("1");
    expect(usedMs() - begun).toBeLessThan(2000);
  });

  test("[search:bounded] with schemas that contain themselves or are endless", () => {
    const cyclic: Record<string, unknown> = { description: "round" };
    cyclic["properties"] = { self: cyclic, other: cyclic };
    cyclic["anyOf"] = [cyclic, cyclic];
    const wide = {
      properties: Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`p${at}`, {}])),
    };
    const begun = usedMs();
    const index = createSearchIndex([
      { id: "1", name: "cyclic", description: "", inputSchema: cyclic },
      { id: "2", name: "wide", description: "", inputSchema: wide },
    ]);
    expect(index.search("round")[0]?.id).toBe("1");
    expect(usedMs() - begun).toBeLessThan(2000);
  });
});
