import { afterEach, describe, expect, test, vi } from "vitest";
import type { ShapeMemory } from "../contract/shape-memory.ts";
import { ObservedOutputs } from "./observed-outputs.ts";
import { isShape } from "./observed-shape.ts";

function createMemory(): ShapeMemory & { readonly texts: Map<string, string>; saves: number } {
  const texts = new Map<string, string>();
  const memory = {
    texts,
    saves: 0,
    remember: async (key: string, text: string) => {
      memory.saves++;
      texts.set(key, text);
    },
    recall: async (key: string) => texts.get(key),
  };
  return memory;
}

afterEach(() => {
  vi.useRealTimers();
});

describe("observed outputs", () => {
  test("are absent before the first outcome and present after it, with the number of samples [handles:93,94]", async () => {
    const observed = new ObservedOutputs();
    expect(await observed.of("mcp:a:b")).toBeUndefined();
    await observed.observe("mcp:a:b", { a: 1, b: 2 });
    await observed.observe("mcp:a:b", { a: "s", c: [] });
    expect(await observed.of("mcp:a:b")).toEqual({
      version: 1,
      source: "observed",
      observedAt: expect.any(Number) as number,
      sampleCount: 2,
      typeScript: "{ a: number | string; b?: number; c?: unknown[]; }",
      jsonShape: expect.objectContaining({ kind: "object" }) as object,
      truncated: false,
    });
    expect(await observed.of("mcp:a:c")).toBeUndefined();
  });

  test("learn from all outcomes that arrive at the same time", async () => {
    const observed = new ObservedOutputs(createMemory());
    await Promise.all([1, "a", null].map((value) => observed.observe("k", { value })));
    expect(await observed.of("k")).toMatchObject({
      sampleCount: 3,
      typeScript: "{ value: null | number | string; }",
    });
  });

  test("survive a restart, without any value [handles:95]", async () => {
    const memory = createMemory();
    await new ObservedOutputs(memory).observe("k", { secret: "hunter2", at: 1_234_567 });
    expect([...memory.texts.values()].join()).not.toMatch(/hunter2|1234567/u);
    const again = new ObservedOutputs(memory);
    await again.observe("k", { at: 2 });
    expect(await again.of("k")).toMatchObject({
      sampleCount: 2,
      typeScript: "{ at: number; secret?: string; }",
    });
  });

  test("are saved when they change, and otherwise less and less often", async () => {
    const memory = createMemory();
    const observed = new ObservedOutputs(memory);
    for (let sample = 0; sample < 1000; sample++) await observed.observe("k", { a: 1 });
    expect(memory.saves).toBe(8 + 6);
    await observed.observe("k", { a: 1, b: 1 });
    expect(memory.saves).toBe(15);
  });

  test("are saved once a day while the tool is used, however often that is [handles:95]", async () => {
    vi.useFakeTimers();
    const memory = createMemory();
    const observed = new ObservedOutputs(memory);
    for (let sample = 0; sample < 129; sample++) await observed.observe("k", { a: 1 });
    const { saves } = memory;
    for (let day = 0; day < 60; day++) {
      vi.advanceTimersByTime(12 * 60 * 60 * 1000);
      await observed.observe("k", { a: 1 });
    }
    expect(memory.saves - saves).toBe(30);
    // Another process knows when the shape was last saved.
    const again = new ObservedOutputs(memory);
    await again.observe("k", { a: 1 });
    expect(memory.saves - saves).toBe(30);
  });

  test("are kept as far as they fit, whatever their size [handles:95]", async () => {
    const memory = createMemory();
    const observed = new ObservedOutputs(memory);
    const wide = (name: string): object =>
      Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`${name}_${n}`, { é: n, of: { this: [n] } }]));
    await observed.observe("k", { first: wide("a"), ["second"]: wide("b"), third: [wide("c")] } as never);
    const text = memory.texts.get("k") ?? "";
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16_384);
    const { shape } = JSON.parse(text) as { shape: unknown };
    expect(isShape(shape)).toBe(true);
    const known = await new ObservedOutputs(memory).of("k");
    expect(known).toMatchObject({ sampleCount: 1, truncated: true });
    expect(known?.typeScript).toMatch(/^\{ first: \{ a_0: \{ of: unknown; /u);
    expect(known).toEqual(await observed.of("k"));
  });

  test("a type that is too long is shortened and marked as truncated [handles:95]", async () => {
    const observed = new ObservedOutputs();
    const names = Array.from({ length: 40 }, (_, n) => `a_rather_long_name_of_a_field_${n}`);
    const inner = Object.fromEntries(names.map((name) => [name, 1]));
    await observed.observe("k", Object.fromEntries(names.slice(0, 3).map((name) => [name, inner])));
    const known = await observed.of("k");
    expect(known?.typeScript).toMatch(/^\{ a_rather_long_name_of_a_field_0: unknown; /u);
    expect(known?.truncated).toBe(true);
  });

  test("nobody waits for a memory that never answers [handles:95]", async () => {
    vi.useFakeTimers();
    const observed = new ObservedOutputs({ recall: () => new Promise(() => {}), remember: async () => {} });
    const known = observed.of("k");
    await vi.advanceTimersByTimeAsync(2000);
    expect(await known).toBeUndefined();
  });

  test.each([
    ["fails", () => Promise.reject(new Error("down"))],
    ["holds nonsense", async () => "{"],
    ["holds something else", async () => '{"observedAt":1,"sampleCount":1,"shape":{"kind":"any"}}'],
    ["holds too much", async () => JSON.stringify({ a: "x".repeat(20_000) })],
  ])("a memory that %s counts as absent [handles:95]", async (_what, recall) => {
    const observed = new ObservedOutputs({ recall, remember: () => Promise.reject(new Error("down")) });
    expect(await observed.of("k")).toBeUndefined();
    await observed.observe("k", [1]);
    expect(await observed.of("k")).toMatchObject({ sampleCount: 1, typeScript: "number[]" });
  });

  test("a shape that was cut is marked as truncated [handles:95]", async () => {
    const observed = new ObservedOutputs();
    await observed.observe("k", { list: Array.from({ length: 30 }, () => 1) });
    expect(await observed.of("k")).toMatchObject({ truncated: true });
  });
});
