/** Descriptions that others wrote: a large one, and many small ones made to be hard. */
import { createRequire } from "node:module";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { nobody } from "../../../../test/connectors/web-backend.ts";
import type { BackendTool } from "../contract/connector.ts";
import { openapi } from "./openapi.ts";

const { resolve } = createRequire(import.meta.url);
const card = { name: "API", description: "Somebody's API" };

async function toolsOf(document: string): Promise<readonly BackendTool[]> {
  const connector = openapi({ id: "api", card, document, baseUrl: "http://127.0.0.1:1" });
  try {
    return await connector.tools({ signal: nobody });
  } finally {
    await connector[Symbol.asyncDispose]();
  }
}

/** What a schema refers to without having it. */
function missingIn(schema: unknown): readonly string[] {
  const defs = (schema as { readonly $defs?: object } | undefined)?.$defs ?? {};
  const refs = JSON.stringify(schema ?? null).matchAll(/"\$ref":"([^"]*)"/gu);
  const names = [...refs].map(([, ref = ""]) => (ref.startsWith("#/$defs/") ? ref.slice(8) : ref));
  return [...new Set(names)].filter((name) => !Object.hasOwn(defs, name));
}

function expectSound(tools: readonly BackendTool[]): void {
  expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
  for (const { name, inputSchema, outputSchema } of tools) {
    expect(name).toMatch(/^[A-Za-z_]\w{0,63}$/u);
    expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    expect([name, missingIn(inputSchema), missingIn(outputSchema)]).toEqual([name, [], []]);
  }
}

describe("the description of GitHub", () => {
  test("has a tool for each operation at its origin, each with schemas of its own", async () => {
    const tools = await toolsOf(resolve("@octokit/openapi/generated/api.github.com.json"));
    expect(tools.length).toBeGreaterThan(1200);
    expectSound(tools);
    const create = tools.find(({ name }) => name === "issues_create");
    const { properties, required } = (create?.inputSchema ?? {}) as { properties: object; required: unknown };
    expect(Object.keys(properties)).toEqual(
      expect.arrayContaining(["owner", "repo", "title", "body", "labels"]),
    );
    expect(required).toEqual(["owner", "repo", "title"]);
    expect(create?.outputSchema).toMatchObject({ $ref: "#/$defs/issue" });
  });
});

describe("a hard description", () => {
  const root = path.dirname(resolve("@readme/oas-examples/package.json"));

  test.each([
    ["2.0/json/petstore.json", 20],
    ["2.0/yaml/schema-circular.yaml", 1],
    ["3.0/json/circular.json", 1],
    ["3.0/json/circular-paths.json", 1],
    ["3.0/json/circular-request-bodies.json", 1],
    ["3.0/json/complex-nesting.json", 1],
    ["3.0/json/file-uploads.json", 3],
    ["3.0/json/parameters-extreme.json", 1],
    ["3.0/json/parameters-style.json", 20],
    ["3.0/json/schema-types.json", 10],
    ["3.1/json/schema-types.json", 10],
    ["3.1/json/train-travel.json", 5],
  ])("such as %s has sound tools", async (file, least) => {
    const tools = await toolsOf(path.join(root, file));
    expect(tools.length).toBeGreaterThanOrEqual(least);
    expectSound(tools);
  });
});
