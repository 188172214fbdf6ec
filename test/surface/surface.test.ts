/** What a model reads about real tools: what it costs, and whether it can be used. */
import { describe, expect, test } from "vitest";
import { createCatalogOf, createFixtureCatalog, surfaceOf, tokensOf } from "./catalogs.ts";

const fixture = createFixtureCatalog();

describe("the surface of real tools", () => {
  test("[surface:tokens] 215 tools cost less than 1,500 tokens", () => {
    expect(fixture.entries.length).toBe(215);
    const { cl100k } = tokensOf(surfaceOf(fixture));
    expect(cl100k).toBeLessThan(1500);
    // Tokens that are not used could have said more.
    expect(cl100k).toBeGreaterThan(1300);
  });

  test.each([10, 100, 500, 2000, 5000])("[surface:tokens] %d tools cost less than 2,000 tokens", (size) => {
    const catalog = createCatalogOf(size);
    expect(catalog.entries.length).toBe(size);
    const { cl100k, o200k } = tokensOf(surfaceOf(catalog));
    expect(cl100k).toBeLessThan(2000);
    expect(o200k).toBeLessThan(2000);
  });

  test("[surface:counted] all seven servers are named, with the number of their tools", () => {
    const { description } = surfaceOf(fixture).exec;
    for (const owner of ["api (35)", "ci (28)", "code-map (23)", "docs (28)", "issues (28)"]) {
      expect(description).toContain(`\nmcp:${owner}: `);
    }
    expect(description).toContain("\nmcp:policy (37): ");
    expect(description).toContain("\nmcp:tickets (36): ");
  });

  test.each([100, 2000, 215])(
    "[surface:honest] of %d tools, every one that is listed can be called",
    (size) => {
      const catalog = size === 215 ? fixture : createCatalogOf(size);
      const { description } = surfaceOf(catalog).exec;
      const lines = description.split("\n").filter((line) => /^mcp:\S+ \(\d+\):/u.test(line));
      expect(lines.length).toBeGreaterThan(5);
      for (const line of lines) {
        const [owner = ""] = line.split(" ");
        const items = line.slice(line.indexOf("): ") + 3).replace(/ …\d+ more$/u, "");
        for (const [name] of items.replaceAll(/\([^)]*\)/gu, "").matchAll(/\S+/gu)) {
          const id = name.startsWith(":") ? `${owner}${name}` : catalog.names.get(name);
          expect(catalog.get(id ?? name)?.id.startsWith(`${owner}:`), `${owner} ${name}`).toBe(true);
        }
      }
    },
  );

  test("[surface:bounded] a budget of any size is kept", () => {
    const large = createCatalogOf(2000);
    const bare = surfaceOf(large, { indexChars: 200 }).exec.description.length;
    for (const indexChars of [500, 2000, 20_000]) {
      const { description } = surfaceOf(large, { indexChars }).exec;
      expect(description.length).toBeLessThanOrEqual(bare + indexChars);
    }
  });
});
