import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../contract/value.ts";
import type { CodeModeOutput } from "../shown/code-mode-result.ts";
import { atOnce } from "../../loop/turn.ts";
import { type LastExchange, OutputBudget } from "./output-budget.ts";
import { OutputItem, toItems } from "./output-items.ts";
import type { RecordNames } from "../../value/json-text.ts";
import { parseJson } from "../../value/parse-json.ts";
import { SavedValues } from "./saved-values.ts";
import { startStopwatch } from "../../../../../test/processor-time.ts";

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const text = (value: string): CodeModeOutput => ({ type: "text", text: value });
const json = (value: Json): CodeModeOutput => ({ type: "json", value });
const saved = (maxBytes = 1e9): SavedValues => new SavedValues({ maxBytes, maxValues: 1000 });
const texts = (items: readonly CodeModeOutput[]): string[] =>
  items.map((item) => (item.type === "text" ? item.text : JSON.stringify(item.value)));
const itemsOf = (outputs: readonly CodeModeOutput[]): OutputItem[] =>
  outputs.map((output) => new OutputItem(output));
const take = (budget: OutputBudget, outputs: readonly CodeModeOutput[], dropped: number): CodeModeOutput[] =>
  atOnce(budget.take(itemsOf(outputs), dropped));
const finish = (
  budget: OutputBudget,
  outputs: readonly CodeModeOutput[],
  dropped: number,
  value?: Json,
): LastExchange => atOnce(budget.finish(itemsOf(outputs), dropped, value));
/** What is given of a value when all output was taken. */
const valueOf = (budget: OutputBudget, value: Json): Json => finish(budget, [], 0, value).value;

/** Bytes as in a result: an empty output counts nothing. */
const exchangeBytes = (items: readonly CodeModeOutput[]): number => (items.length === 0 ? 0 : bytesOf(items));

/** An item is exactly one of the two kinds, as a model reads it. */
const isItem = (item: CodeModeOutput): boolean => {
  const keys = Object.keys(JSON.parse(JSON.stringify(item)) as object).join();
  return item.type === "text" ? keys === "type,text" && typeof item.text === "string" : keys === "type,value";
};

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc
    .tuple(fc.string({ unit: "binary", minLength: 1, maxLength: 6 }), fc.nat(2000))
    .map(([unit, times]) => unit.repeat(times)),
);
const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 5 }) as fc.Arbitrary<Json>,
  anyText as fc.Arbitrary<Json>,
  fc.array(fc.record({ id: fc.nat(), name: anyText, tags: fc.array(anyText) }), { maxLength: 60 }),
  fc.dictionary(fc.string({ unit: "binary" }), anyText, { maxKeys: 80 }),
);
const anyItem = fc.oneof(anyText.map(text), anyJson.map(json));
const anyExchanges = fc.array(
  fc.record({ items: fc.array(anyItem, { maxLength: 30 }), dropped: fc.nat(3) }),
  {
    maxLength: 6,
  },
);
const anyCap = fc.oneof(fc.integer({ min: 1024, max: 4096 }), fc.integer({ min: 1024, max: 200_000 }));

describe("the output budget", () => {
  test("output of all exchanges and the value never exceed the cap and stay JSON [exec-wait:46] [exec-wait:47]", () => {
    fc.assert(
      fc.property(
        anyCap,
        anyExchanges,
        anyItem,
        fc.option(anyJson, { nil: undefined }),
        fc.constantFrom(0, 1000, 1e9),
        fc.boolean(),
        (cap, exchanges, last, value, savedBytes, isJoint) => {
          const budget = new OutputBudget(cap, saved(savedBytes));
          let used = 0;
          for (const { items, dropped } of exchanges) {
            const given = take(budget, items, dropped);
            expect(given.every(isItem)).toBe(true);
            used += exchangeBytes(given);
          }
          if (isJoint) {
            const exchange = finish(budget, [last], 1, value);
            used += exchangeBytes(exchange.output) + (value === undefined ? 0 : bytesOf(exchange.value));
          } else {
            used += exchangeBytes(take(budget, [last], 1));
            const exchange = finish(budget, [], 1, value ?? null);
            used += exchangeBytes(exchange.output) + bytesOf(exchange.value);
          }
          expect(used).toBeLessThanOrEqual(cap);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("output that fits is not touched, in one exchange up to the last byte", () => {
    fc.assert(
      fc.property(fc.array(anyItem, { maxLength: 10 }), anyJson, (items, value) => {
        const cap = Math.max(1024, exchangeBytes(items) + bytesOf(value));
        expect(finish(new OutputBudget(cap, saved()), items, 0, value)).toEqual({ output: items, value });
      }),
    );
    fc.assert(
      fc.property(anyExchanges, anyJson, (exchanges, value) => {
        const bytes = exchanges.reduce((sum, { items }) => sum + exchangeBytes(items), 0) + bytesOf(value);
        const budget = new OutputBudget(2048 + 2 * bytes, saved());
        for (const { items } of exchanges) expect(take(budget, items, 0)).toEqual(items);
        expect(valueOf(budget, value)).toEqual(value);
      }),
    );
  });

  test("items keep their order and come once, the rest is counted [exec-wait:42] [exec-wait:48]", () => {
    fc.assert(
      fc.property(anyCap, fc.array(fc.nat(60), { maxLength: 8 }), (cap, counts) => {
        let next = 0;
        const budget = new OutputBudget(cap, saved());
        const exchanges = counts.map((count) =>
          Array.from({ length: count }, () => text(`line ${next++} of a log`)),
        );
        const given = [
          ...exchanges.flatMap((exchange) => take(budget, exchange, 0)),
          ...finish(budget, [], 0, null).output,
        ];
        const lines = texts(given).filter((one) => one.startsWith("line"));
        expect(lines).toEqual(lines.map((_, index) => `line ${index} of a log`));
        const omitted = texts(given).flatMap((one) => /^… (\d+) more item/u.exec(one)?.[1] ?? []);
        expect(lines.length + omitted.reduce((sum, one) => sum + Number(one), 0)).toBe(next);
      }),
    );
  });

  test("a large text is cut at a whole code point, says what is missing and leaves room for what follows", async () => {
    const values = saved();
    const long = "😀é\n".repeat(10_000);
    const { output, value } = finish(new OutputBudget(2048, values), [text(long), text("done")], 0, {
      ok: true,
    });
    const [cut = "", done] = texts(output);
    expect(done).toBe("done");
    expect(value).toEqual({ ok: true });
    const [, kept = "", omitted] =
      /^(.*)… \((\d+) bytes omitted, await load_result\("r_1"\) gives all\)$/su.exec(cut) ?? [];
    expect(long.startsWith(kept)).toBe(true);
    expect(kept.isWellFormed()).toBe(true);
    expect(Buffer.byteLength(kept) + Number(omitted)).toBe(Buffer.byteLength(long));
    expect(await values.load("r_1")).toEqual({ ok: true, json: JSON.stringify(long) });
  });

  test("a large value shows its shape, its first rows and how to load the rest [exec-wait:46]", async () => {
    const rows = Array.from({ length: 1000 }, (_, id) => ({
      id,
      name: `customer ${id}`,
      note: "x".repeat(50),
    }));
    const whole = { total: 1000, rows, next: "page-2" };
    const values = saved();
    const given = valueOf(new OutputBudget(2048, values), whole);
    expect(given).toMatchObject({
      truncated: true,
      prefix: { total: 1000, next: "page-2" },
      shape: "{ next: string; rows: { id: number; name: string; note: string; }[]; total: number; }",
      ref: "r_1",
      load: 'await load_result("r_1")',
    });
    const { prefix, omittedBytes } = given as { prefix: { rows: Json[] }; omittedBytes: number };
    expect(prefix.rows.slice(0, 5)).toEqual(rows.slice(0, 5));
    expect(prefix.rows.at(-1)).toBe(`… ${1000 - prefix.rows.length + 1} more of 1000 items`);
    expect(omittedBytes).toBe(bytesOf(whole) - bytesOf(prefix));
    expect(bytesOf(given)).toBeGreaterThan(1500);
    expect(await values.load("r_1")).toEqual({ ok: true, json: JSON.stringify(whole) });
  });

  test("cuts a large value the same with and without the text that it was parsed from", async () => {
    const whole = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`field ${n}`, [n, { n }]]));
    const printed = JSON.stringify(whole);
    const names: RecordNames = new Map();
    const parsed = await parseJson(printed, 1e9, undefined, names);
    expect(names.size).toBe(1);
    const budget = new OutputBudget(4096, saved());
    const items = atOnce(toItems([{ level: "json", text: printed }]));
    const large = { json: printed, names };
    const given = atOnce(budget.finish(items, 0, parsed.ok ? parsed.value : null, large));
    expect(given).toEqual(finish(new OutputBudget(4096, saved()), [json(whole)], 0, whole));
  });

  test("counts a large value as JSON prints it, even if the worker wrote it shorter", () => {
    // A worker that was taken over may write numbers in a shorter way than JSON prints them.
    const items = atOnce(toItems([{ level: "json", text: `[${"1e20,".repeat(20_000)}0]` }]));
    for (const cap of [120_000, 300_000, 460_000]) {
      const { output } = atOnce(new OutputBudget(cap, saved()).finish(items, 0));
      expect(bytesOf(output)).toBeLessThanOrEqual(cap);
    }
  });

  test("a value that was not saved has no ref", () => {
    const given = finish(new OutputBudget(1024, saved(100)), [json("y".repeat(9000))], 0, "x".repeat(9000));
    expect(JSON.stringify(given)).not.toContain("load");
    expect(given.value).toMatchObject({ truncated: true });
  });

  test("the value of a program that printed too much before still shows something [exec-wait:47]", () => {
    for (const length of [10, 500, 735, 2000]) {
      const budget = new OutputBudget(1024, saved());
      for (let exchange = 0; exchange < 50; exchange++) take(budget, [text("z".repeat(length))], 0);
      const { output, value } = finish(budget, [text("late")], 0, { a: 1, long: "y".repeat(5000) });
      expect(texts(output)).toEqual([
        expect.stringMatching(/^… \d+ more items omitted \(\d+ bytes\), await/u),
      ]);
      expect(value).toMatchObject({ truncated: true, prefix: { a: 1 }, ref: expect.any(String) });
    }
  });

  test("dropped log lines are told once, also when there are no items", () => {
    const budget = new OutputBudget(1024, saved());
    expect(texts(take(budget, [text("a")], 7))).toEqual(["a", "… 7 log lines dropped, print less"]);
    expect(take(budget, [], 7)).toEqual([]);
    expect(finish(budget, [], 9, 1)).toEqual({ output: [], value: 1 });
    const full = new OutputBudget(1024, saved());
    const told = [
      ...take(full, [text("b".repeat(2000)), ...Array.from({ length: 40 }, () => text("c".repeat(100)))], 3),
      ...take(full, [], 3),
    ];
    expect(texts(told).filter((one) => one.includes("3 log lines dropped"))).toHaveLength(1);
  });

  test("a program that failed may use all of the room for its output", () => {
    const item = text("x".repeat(900));
    expect(finish(new OutputBudget(1024, saved()), [item], 0)).toEqual({ output: [item], value: null });
  });

  test("hostile values take no time", () => {
    let deep: Json = "x".repeat(100_000);
    for (let level = 0; level < 1000; level++) deep = { pad: "y".repeat(1000), deep };
    const wide = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`key ${n}`, [n]]));
    const elapsedMs = startStopwatch();
    for (const value of [deep, wide, Array.from({ length: 1_000_000 }, () => 0)]) {
      const given = valueOf(new OutputBudget(65_536, saved()), value);
      expect(bytesOf(given)).toBeLessThanOrEqual(65_536);
    }
    expect(elapsedMs()).toBeLessThan(3000);
  });
});
