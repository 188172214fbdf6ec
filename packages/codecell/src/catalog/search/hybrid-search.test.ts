import { describe, expect, test } from "vitest";
import type { SearchDocument } from "./document.ts";
import { createHybridSearch, type Embed } from "./hybrid-search.ts";
import { createSearchIndex } from "./search-index.ts";

const TOOLS: readonly SearchDocument[] = [
  { id: "a", name: "stripe_refund", description: "Refund a charge" },
  { id: "b", name: "send_email", description: "Send an email" },
  { id: "c", name: "zzz", description: "Qwertz" },
];

/** A model that finds the third tool for every wish. */
const embed: Embed = async (texts) => texts.map((text) => (/zzz|wish/u.test(text) ? [1, 0] : [0.1, 1]));

const open = (given: Embed, onFailure: (error: unknown) => void = () => {}) =>
  createHybridSearch(TOOLS, createSearchIndex(TOOLS), { embed: given, onFailure });

describe("hybrid search", () => {
  test("finds tools that only the model finds, and tools that only words find", async () => {
    const search = await open(embed);
    expect((await search.search("wish")).map(({ id }) => id)[0]).toBe("c");
    const ids = (await search.search("refund wish")).map(({ id }) => id);
    expect(new Set(ids.slice(0, 2))).toEqual(new Set(["a", "c"]));
  });

  test("an exact name stays first, and the limit holds", async () => {
    const search = await open(async (texts) =>
      texts.map((text) => (text.includes("email") ? [1, 0] : [0.9, 0.1])),
    );
    expect((await search.search("stripe_refund")).map(({ id }) => id)[0]).toBe("a");
    expect(await search.search("email", { limit: 1 })).toHaveLength(1);
  });

  test("if the model fails for a query, the index answers alone and the host hears of it", async () => {
    const failures: unknown[] = [];
    const failing: Embed = async (texts, purpose) => {
      if (purpose === "query") throw new Error("away");
      return texts.map(() => [1, 0]);
    };
    const search = await open(failing, (error) => failures.push(error));
    expect((await search.search("refund"))[0]?.id).toBe("a");
    expect(String(failures[0])).toContain("away");
  });

  test("vectors of the wrong number or length are refused", async () => {
    await expect(open(async () => [])).rejects.toThrow(RangeError);
    await expect(open(async (texts) => texts.map((_, at) => Array<number>(at + 1)))).rejects.toThrow(
      RangeError,
    );
    const failures: unknown[] = [];
    const growing: Embed = async (texts, purpose) => texts.map(() => (purpose === "query" ? [1] : [1, 0]));
    const search = await open(growing, (error) => failures.push(error));
    await search.search("refund");
    expect(failures).toHaveLength(1);
  });

  test("the model gets the beginning of a long request, cut between characters", async () => {
    const asked: string[] = [];
    const search = await open(async (texts, purpose) => {
      if (purpose === "query") asked.push(...texts);
      return texts.map(() => [1, 0]);
    });
    await search.search(`a${"🙂".repeat(10_000)}`);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.length).toBe(2000);
    expect(asked[0]?.isWellFormed()).toBe(true);
  });

  test("no tools, no hits", async () => {
    const search = await createHybridSearch([], createSearchIndex([]), { embed });
    expect(await search.search("anything")).toEqual([]);
  });
});
