import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ToolSet } from "../contract/tool.ts";
import { createCatalog, type ToolSource } from "./catalog.ts";
import { startStopwatch } from "../../../../test/processor-time.ts";

const tool = (description: string): ToolSet[string] => ({ description, execute: () => null });

const github: ToolSource = {
  kind: "mcp",
  owner: "github",
  tools: { "create-issue": tool("Create an issue"), search: tool("Search"), forbidden: tool("No") },
};
const desk: ToolSource = {
  kind: "core",
  owner: "core",
  tools: { message: tool("Send"), "close-issue": tool("Close") },
};

describe("catalog", () => {
  test("lists every tool once, by id [exec-wait:15,16]", () => {
    const catalog = createCatalog([github, desk]);
    const ids = catalog.entries.map(({ id }) => id);
    expect(ids).toEqual([
      "core:core:close-issue",
      "core:core:message",
      "mcp:github:create-issue",
      "mcp:github:forbidden",
      "mcp:github:search",
    ]);
    expect([...catalog.names]).toEqual([
      ["close_issue", "core:core:close-issue"],
      ["message", "core:core:message"],
      ["create_issue", "mcp:github:create-issue"],
      ["forbidden", "mcp:github:forbidden"],
    ]);
    expect(catalog.get("core:core:message")).toMatchObject({ kind: "core", owner: "core", name: "message" });
    expect(catalog.get("message")).toBeUndefined();
    expect(catalog.get("__proto__")).toBeUndefined();
  });

  test("a denied tool is not there under any name [exec-wait:17]", () => {
    const catalog = createCatalog([github, desk], { policy: { deny: ["forbidden", "core:*:*"] } });
    expect(catalog.entries.map(({ name }) => name)).toEqual(["create-issue", "search"]);
    expect(catalog.get("mcp:github:forbidden")).toBeUndefined();
    expect(catalog.names.has("forbidden")).toBe(false);
    // The policy also applies to sources that are added later.
    const more = catalog.withSource({
      kind: "mcp",
      owner: "other",
      tools: { forbidden: tool("No"), free: tool("") },
    });
    expect(more.entries.map(({ id }) => id)).toEqual([
      "mcp:github:create-issue",
      "mcp:github:search",
      "mcp:other:free",
    ]);
  });

  test("a denied tool makes no name ambiguous", () => {
    const twins: ToolSource[] = [
      { kind: "mcp", owner: "a", tools: { run: tool("") } },
      { kind: "mcp", owner: "b", tools: { run: tool("") } },
    ];
    expect(createCatalog(twins).names.has("run")).toBe(false);
    expect(createCatalog(twins, { policy: { deny: ["mcp:b:*"] } }).names.get("run")).toBe("mcp:a:run");
  });

  test("has the same hash for equal tools in any order, and another hash after any change [exec-wait:16]", () => {
    const names = fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 8 });
    fc.assert(
      fc.property(names, fc.integer(), (given, seed) => {
        const tools = given.map((name) => [name, tool(`Does ${name}`)] as const);
        const shuffled = tools.toSorted(([a], [b]) => ((a.length * seed) % 7) - ((b.length * seed) % 7));
        const make = (list: typeof tools): ToolSource => ({
          kind: "mcp",
          owner: "o",
          tools: Object.fromEntries(list),
        });
        const one = createCatalog([make(tools), desk]);
        const other = createCatalog([desk, make(shuffled)]);
        expect(other.entries.map(({ id }) => id)).toEqual(one.entries.map(({ id }) => id));
        expect(other.hash).toBe(one.hash);
        expect(one.withoutSource("core", "core").hash).not.toBe(one.hash);
        expect(one.withSource({ ...desk, tools: { message: tool("Send it") } }).hash).not.toBe(one.hash);
      }),
    );
  });

  test("a change leaves the old catalog as it was [exec-wait:27]", () => {
    const catalog = createCatalog([github]);
    const { hash } = catalog;
    const more = catalog.withSource(desk);
    expect(catalog.entries).toHaveLength(3);
    expect(more.entries).toHaveLength(5);
    expect(more.withoutSource("core", "core").hash).toBe(hash);
    const list = [github];
    const listed = createCatalog(list);
    list.push(desk);
    expect(listed.withoutSource("core", "other").hash).toBe(hash);
    expect(() => (catalog.entries as unknown[]).push(1)).toThrow(TypeError);
    expect(() => Object.assign(catalog.entries[0] ?? {}, { id: "x" })).toThrow(TypeError);
  });

  test("ten thousand tools are catalogued within a second", () => {
    const sources = Array.from({ length: 20 }, (_, owner): ToolSource => {
      const tools = Array.from({ length: 500 }, (_each, index): [string, ToolSet[string]] => [
        `tool-${owner}-${index}`,
        {
          description: `Does the thing number ${index} of ${owner}`,
          input: { type: "object", properties: { id: { type: "string" }, count: { type: "integer" } } },
          execute: () => null,
        },
      ]);
      return { kind: "mcp", owner: `server-${owner}`, tools: Object.fromEntries(tools) };
    });
    const elapsedMs = startStopwatch();
    const catalog = createCatalog(sources, { policy: { deny: ["mcp:*:tool-7-*", "secret_*"] } });
    expect([catalog.entries.length, catalog.names.size, catalog.hash.length]).toEqual([9500, 9500, 64]);
    expect(elapsedMs()).toBeLessThan(1000);
  });

  test("two sources cannot have the same tool", () => {
    expect(() => createCatalog([github, github])).toThrow("two sources have it");
  });
});
