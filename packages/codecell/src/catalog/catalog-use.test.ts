/** The use of a catalog: finding, describing and learning about tools. */
import { describe, expect, test } from "vitest";
import { defineTool, type ToolSet } from "../contract/tool.ts";
import { createCatalog } from "./catalog.ts";
import type { Embed } from "./search/hybrid-search.ts";

const tools: ToolSet = {
  "create-issue": defineTool({
    description: "Opens a new issue in a repository",
    label: "New issue",
    tags: ["bug", "ticket"],
    input: {
      type: "object",
      properties: { title: { type: "string" } },
      required: ["title"],
      additionalProperties: false,
    },
    output: { type: "object", properties: { number: { type: "integer" } }, required: ["number"] },
    examples: [{ input: { title: "It is broken" }, output: { number: 7 } }],
    execute: () => ({ number: 1 }),
  }),
  search: { description: "Searches code", execute: () => [] },
  weather: {
    description: "Forecast for a city",
    output: { description: "Whatever comes" },
    execute: () => null,
  },
  forbidden: { description: "Opens an issue in secret", execute: () => null },
};
const catalog = createCatalog([{ kind: "mcp", owner: "github", tools }], { policy: { deny: ["forbidden"] } });

describe("search [exec-wait:18]", () => {
  test("finds tools by words, with a call ready to be pasted", async () => {
    expect((await catalog.search("open an issue"))[0]).toEqual({
      id: "mcp:github:create-issue",
      name: "create-issue",
      kind: "mcp",
      owner: "github",
      label: "New issue",
      description: "Opens a new issue in a repository",
      signature: "tools.create_issue(input:{title:string}):Promise<{number:number}>",
    });
  });

  test("a tool without a convenience name is called by its id", async () => {
    expect((await catalog.search("search"))[0]?.signature).toBe(
      'tools.call("mcp:github:search",input?:unknown):Promise<unknown>',
    );
  });

  test("a signature can be pasted, whatever the tool's name is", async () => {
    const long = "long_".repeat(100);
    const named = { größe: { execute: () => 1 }, [long]: { execute: () => 1 } };
    const others = createCatalog([{ kind: "mcp", owner: "o", tools: named }]);
    expect((await others.search("größe"))[0]?.signature).toBe("tools.größe(input?:unknown):Promise<unknown>");
    expect((await others.describe(`mcp:o:${long}`))?.signature).toBe(
      `tools.${long}(input?:unknown):Promise<unknown>`,
    );
  });

  test.each(["create-issue", "mcp:github:create-issue", "Create Issue", "create_issue"])(
    "%j is found first",
    async (query) => {
      expect((await catalog.search(query))[0]?.name).toBe("create-issue");
    },
  );

  test("a denied tool is not found, and a query that fits nothing finds nothing [exec-wait:17]", async () => {
    expect(await catalog.search("forbidden secret")).toEqual([]);
    expect(await catalog.search("zzz qqq")).toEqual([]);
    expect(await catalog.search("")).toEqual([]);
  });

  test("the limit holds, and a wrong limit is refused", async () => {
    expect(await catalog.search("issue code city", { limit: 1 })).toHaveLength(1);
    for (const limit of [0, -1, 1.5, Number.NaN])
      await expect(catalog.search("x", { limit })).rejects.toThrow(RangeError);
    await expect(catalog.search(7 as unknown as string)).rejects.toThrow(TypeError);
  });
});

describe("an embedding model", () => {
  const sources = [{ kind: "mcp", owner: "github", tools }];

  test("takes part in searches", async () => {
    const embed: Embed = async (texts) =>
      texts.map((text) => (/weather|umbrella/u.test(text) ? [1, 0] : [0, 1]));
    const helped = createCatalog(sources, { embedding: { embed } });
    expect((await helped.search("umbrella"))[0]?.name).toBe("weather");
  });

  test.each(["document", "query"])(
    "that fails for a %s is reported, and the search goes on by words alone",
    async (at) => {
      const failures: unknown[] = [];
      const embed: Embed = async (texts, purpose) => {
        if (purpose === at) throw new Error("away");
        return texts.map(() => [1, 0]);
      };
      const helped = createCatalog(sources, {
        embedding: { embed, onFailure: (error) => failures.push(error) },
      });
      expect((await helped.search("city forecast"))[0]?.name).toBe("weather");
      expect(String(failures)).toContain("away");
    },
  );
});

describe("describe [exec-wait:19]", () => {
  test("gives everything that is known about a tool", async () => {
    expect(await catalog.describe("mcp:github:create-issue")).toEqual({
      ...(await catalog.search("create-issue"))[0],
      tags: ["bug", "ticket"],
      inputSchema: tools["create-issue"]?.input,
      outputSchema: tools["create-issue"]?.output,
      typeScript: "type Input={title:string}\ntype Output={/** int */ number:number}",
      examples: [{ input: { title: "It is broken" }, output: { number: 7 } }],
    });
  });

  test("gives undefined for an id that is not in the catalog", async () => {
    for (const id of ["mcp:github:forbidden", "create-issue", "", "__proto__"]) {
      expect(await catalog.describe(id)).toBeUndefined();
    }
  });
});

describe("observed outputs", () => {
  const one = { kind: "mcp", owner: "github", tools };

  test("replace an output schema only if it says nothing [handles:94]", async () => {
    const learning = createCatalog([one]);
    expect(await learning.describe("mcp:github:weather")).not.toHaveProperty("observedOutput");
    for (const id of ["mcp:github:weather", "mcp:github:create-issue", "mcp:github:nothing"]) {
      await learning.observe(id, { degrees: 7 });
    }
    const described = await learning.describe("mcp:github:weather");
    expect(described?.observedOutput).toMatchObject({ sampleCount: 1, typeScript: "{ degrees: number; }" });
    expect(described?.typeScript).toBe("type Input=unknown\ntype Output={ degrees: number; }");
    expect(await learning.describe("mcp:github:create-issue")).not.toHaveProperty("observedOutput");
  });

  test("continue in a changed catalog, and start afresh if the identity changes [handles:95]", async () => {
    const learning = createCatalog([one]);
    await learning.observe("mcp:github:weather", 1);
    const more = learning.withSource({ kind: "core", owner: "core", tools: {} });
    expect(await more.describe("mcp:github:weather")).toHaveProperty("observedOutput");
    const other = learning.withSource({ ...one, identity: "v2" });
    expect(await other.describe("mcp:github:weather")).not.toHaveProperty("observedOutput");
  });
});

test("tools with cyclic schemas are catalogued like others", async () => {
  const schema: Record<string, unknown> = { type: "object" };
  schema["properties"] = { child: schema };
  const cyclic = createCatalog([
    { kind: "mcp", owner: "o", tools: { tree: { input: schema, execute: () => null } } },
  ]);
  expect(cyclic.hash).toHaveLength(64);
  expect((await cyclic.search("tree"))[0]?.signature).toContain("tools.tree(");
});
