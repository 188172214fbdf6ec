import { specTypeSchemas } from "@modelcontextprotocol/client";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { faultOfEntry } from "./entry-faults.ts";

const OLD = { isOld: true, hasHeaders: false };
const NEW = { isOld: false, hasHeaders: true };
const schema = { type: "object" } as const;

const LISTS = [
  ["tools", specTypeSchemas.Tool, { name: "a", inputSchema: schema }],
  ["resources", specTypeSchemas.Resource, { uri: "a://b", name: "a" }],
  ["resourceTemplates", specTypeSchemas.ResourceTemplate, { uriTemplate: "a://{b}", name: "a" }],
  ["prompts", specTypeSchemas.Prompt, { name: "a" }],
] as const;

describe.each(LISTS)("an entry of %s", (list, exact, ordinary) => {
  test("that is ordinary is right", () => {
    expect(faultOfEntry(list, ordinary, OLD)).toBeUndefined();
    expect(faultOfEntry(list, { ...ordinary, title: "A", description: "B" }, NEW)).toBeUndefined();
  });

  test("that is right is one for the client too, whatever else it has", () => {
    const field = fc.constantFrom(
      "name",
      "uri",
      "uriTemplate",
      "title",
      "description",
      "mimeType",
      "inputSchema",
      "outputSchema",
      "annotations",
      "icons",
      "_meta",
      "arguments",
      "size",
      "other",
      "__proto__",
    );
    const value = fc.oneof(
      fc.anything({ withNullPrototype: false, maxDepth: 2 }),
      fc.constantFrom(
        schema,
        { type: "object", properties: { a: true } },
        { readOnlyHint: true },
        { title: true },
        { type: "object", $schema: 5 },
        { type: "object", required: ["a"] },
        [{ name: "a" }],
      ),
    );
    fc.assert(
      fc.property(fc.dictionary(field, value), fc.boolean(), (fields, isOrdinary) => {
        const entry = JSON.parse(JSON.stringify({ ...(isOrdinary && ordinary), ...fields })) as unknown;
        if (faultOfEntry(list, entry, OLD) === undefined)
          expect(exact["~standard"].validate(entry)).not.toHaveProperty("issues");
      }),
    );
  });

  test.each([undefined, null, 5, "a", [], {}])("that is %j is none", (entry) => {
    expect(faultOfEntry(list, entry, OLD)).toMatch(/^(?:is no object|has no (?:name|uri|uriTemplate))$/u);
  });
});

describe("a tool", () => {
  const tool = (inputSchema: object): object => ({ name: "a", inputSchema });
  test.each<[entry: object, fault: string | undefined]>([
    [{ name: "a" }, "is not as the protocol wants it: inputSchema"],
    [tool({ type: "string" }), "is not as the protocol wants it: inputSchema.type"],
    [tool({ type: "object", properties: [] }), "is not as the protocol wants it: inputSchema.properties"],
    [tool({ type: "object", required: [1] }), "is not as the protocol wants it: inputSchema.required"],
    [
      { ...tool(schema), annotations: { readOnlyHint: "yes" } },
      "is not as the protocol wants it: annotations.readOnlyHint",
    ],
    [
      { ...tool(schema), outputSchema: { type: "string" } },
      "is not as the protocol wants it: outputSchema.type",
    ],
    [{ ...tool(schema), annotations: { readOnlyHint: true } }, undefined],
  ])("%j", (entry, fault) => {
    expect(faultOfEntry("tools", entry, OLD)).toBe(fault);
  });

  const header = (value: unknown, type = "string"): object => ({ type, "x-mcp-header": value });
  const properties = (all: object): object => tool({ type: "object", properties: all });
  test.each<[what: string, entry: object, isSound: boolean]>([
    ["one header", properties({ a: header("A") }), true],
    [
      "headers in objects",
      properties({ a: { type: "object", properties: { b: header("A", "integer") } } }),
      true,
    ],
    ["a property of that name", properties({ "x-mcp-header": { type: "string" } }), true],
    ["a header without a name", properties({ a: header("") }), false],
    ["a header that is no text", properties({ a: header(5) }), false],
    ["a header with a blank", properties({ a: header("A B") }), false],
    ["a header of an object", properties({ a: header("A", "object") }), false],
    ["a header of a number", properties({ a: header("A", "number") }), false],
    ["one header twice", properties({ a: header("A"), b: header("a") }), false],
    ["a header of an item", properties({ a: { type: "array", items: header("A") } }), false],
    ["a header of all", tool({ type: "object", "x-mcp-header": "A" }), false],
  ])("with %s", (_, entry, isSound) => {
    expect(faultOfEntry("tools", entry, NEW) === undefined).toBe(isSound);
    expect(faultOfEntry("tools", entry, OLD)).toBeUndefined();
  });
});
