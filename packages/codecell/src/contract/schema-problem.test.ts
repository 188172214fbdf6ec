import { fc, test as property } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { schemaProblem } from "./schema-problem.ts";

/** A schema of a library may be a function that has a validator. */
const callable = Object.assign(() => undefined, {
  "~standard": { version: 1, vendor: "test", validate: () => ({ value: 1 }) },
});

class OldSchema {
  readonly _def = { typeName: "ZodNumber" };
  readonly parse = (value: unknown): unknown => value;
}

describe("values that are schemas", () => {
  test.each<[string, unknown]>([
    ["none", undefined],
    ["true", true],
    ["false", false],
    ["nothing said", {}],
    ["a Standard Schema", z.object({ a: z.number() })],
    ["a Standard Schema of another library", mini.object({ a: mini.number() })],
    ["a Standard Schema that is a function", callable],
    ["JSON Schema made by a library", z.toJSONSchema(z.object({ a: z.number() }))],
    [
      "JSON Schema of a library inside another",
      { type: "object", properties: { a: z.toJSONSchema(z.number()) } },
    ],
    ["JSON Schema", { type: "object", properties: { type: { type: "string" } } }],
    ["an object of another prototype", Object.assign(Object.create(null), { type: "object" })],
    ["a title", { title: "Anything" }],
    ["a description", { description: "Anything" }],
    ["a dialect", { $schema: "https://json-schema.org/draft/2020-12/schema" }],
    ["a reference", { $ref: "#/$defs/a", $defs: { a: { type: "number" } } }],
    ["an unknown keyword with $", { $vocab: { type: "string" } }],
    ["OpenAPI's nullable", { nullable: true }],
    ["OpenAPI's discriminator", { discriminator: { propertyName: "kind" } }],
    ["OpenAPI's xml", { xml: { name: "a", type: "x" } }],
    ["an extension", { "x-order": { type: "string" } }],
    ["an unknown keyword", { markdownDescription: "Any *value*" }],
    ["an unknown keyword beside a known one", { title: "a", widget: { type: "select" } }],
    ["a schema somewhere else in the document", { type: "object", Address: { type: "object" } }],
    ["items alone", { items: { type: "string" } }],
    ["a default that looks like a schema", { default: { type: "string" } }],
    ["an example that looks like a schema", { example: { type: "string" } }],
    ["not", { not: { type: "string" } }],
    ["draft 3", { extends: { type: "object" }, disallow: "string" }],
  ])("%s", (_name, schema) => {
    expect(schemaProblem(schema)).toBeUndefined();
    // Ask twice: a first answer is remembered.
    expect(schemaProblem(schema)).toBeUndefined();
  });

  test("a schema that contains itself", () => {
    const list: Record<string, unknown> = { type: "object" };
    list["properties"] = { next: list };
    expect(schemaProblem(list)).toBeUndefined();
  });

  test("a very deeply nested schema is not searched to its end", () => {
    let deep: object = { type: "string" };
    for (let level = 0; level < 50_000; level++) deep = { items: deep };
    expect(schemaProblem(deep)).toBeUndefined();
  });

  property.prop([fc.jsonValue()])("any JSON gives an answer, and the same answer twice", (json) => {
    expect(schemaProblem(json)).toBe(schemaProblem(json));
  });

  property.prop([fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom("object", "string", ["null"])])(
    "any JSON beside a type",
    (others, type) => {
      expect(schemaProblem({ ...others, type })).toBeUndefined();
    },
  );
});

describe("values that are not schemas", () => {
  test.each<[string, unknown, string]>([
    ["null", null, "is null"],
    ["a string", '{"type":"object"}', "is a string"],
    ["a number", 5, "is a number"],
    ["a list", [{ type: "string" }], "is an array"],
    ["a function", () => z.object({}), "is a function"],
    ["a constructor", String, "is a function"],
    ["a Standard Schema that cannot validate", { "~standard": { version: 1 } }, "cannot validate"],
    ["a Standard Schema without its part", { "~standard": null }, "cannot validate"],
    ["an AI SDK schema", { [Symbol.for("vercel.ai.schema")]: true, jsonSchema: {} }, "of the AI SDK"],
    ["fields of Zod", { a: z.number() }, "give z.object({ a: … })"],
    ["fields of Zod Mini", { a: mini.number() }, "give z.object({ a: … })"],
    ["fields of Zod named like keywords", { type: z.string(), title: z.string() }, "z.object({ type: … })"],
    ["Zod inside JSON Schema", { type: "object", properties: { a: z.number() } }, 'at "properties.a"'],
    ["Zod in a list", { anyOf: [{ type: "null" }, z.number()] }, 'at "anyOf.1"'],
    ["constructors as types", { type: "object", properties: { a: String } }, 'at "properties.a"'],
    ["fields of constructors", { a: Number }, 'has a function at "a"'],
    ["a Map of properties", { type: "object", properties: new Map() }, 'at "properties"'],
    ["a regular expression", { type: "string", pattern: /a/u }, 'at "pattern"'],
    ["a schema of an old library", new OldSchema(), "a newer version of its library"],
    ["fields of JSON Schema", { a: { type: "number" } }, 'give { type: "object", properties: { a: … } }'],
    ["a field named like a keyword", { title: { type: "string" } }, "properties: { title: … }"],
    [
      "a field named like a keyword that holds schemas",
      { items: { type: "array" }, n: { type: "number" } },
      "{ n: … }",
    ],
    ["fields by the names of types", { a: "number" }, "properties: { a: … }"],
  ])("%s", (_name, value, problem) => {
    expect(schemaProblem(value)).toContain(problem);
    expect(schemaProblem(value)).toContain(problem);
  });

  property.prop([
    fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/u), fc.constantFrom("number", "string", "boolean"), {
      minKeys: 1,
    }),
  ])("fields of Zod, whatever they are called", (fields) => {
    const shape = Object.fromEntries(Object.keys(fields).map((name) => [name, z.string()]));
    expect(schemaProblem(shape)).toContain("no schema itself");
  });
});
