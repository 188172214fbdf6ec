import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { JsonSchema, StandardSchema, Direction } from "../contract/standard-schema.ts";
import { Judges } from "../sandbox/node/judges.ts";
import { defaultWorkerUrl } from "../sandbox/node/worker-script.ts";
import { toLateSchema, validatorOf as validatorWith, type Validated } from "./schema.ts";

const judges = new Judges(defaultWorkerUrl(), 500);

function validatorOf(
  schema: StandardSchema | JsonSchema | undefined,
  direction: Direction = "input",
): (value: unknown, root: string) => Validated | Promise<Validated> {
  return (value, root) =>
    validatorWith(schema, direction)(value, root, judges.for("test", new AbortController().signal));
}

describe("validatorOf", () => {
  test("a property of the other direction is not required, also behind a reference or in a list", async () => {
    const schema: JsonSchema = {
      type: "object",
      properties: {
        id: { type: "string", readOnly: true },
        secret: { $ref: "#/$defs/Secret" },
        name: { type: "string" },
        rows: {
          type: "array",
          items: {
            type: "object",
            properties: { at: { type: "number", readOnly: true }, n: { type: "number" } },
            required: ["at", "n"],
          },
        },
      },
      required: ["id", "secret", "name"],
      $defs: { Secret: { type: "string", writeOnly: true } },
    };
    const input = { secret: "s", name: "n", rows: [{ n: 1 }] };
    const output = { id: "i", name: "n", rows: [{ at: 1, n: 1 }] };
    expect(await validatorOf(schema, "input")(input, "input")).toMatchObject({ ok: true });
    expect(await validatorOf(schema, "output")(output, "output")).toMatchObject({ ok: true });
    expect(await validatorOf(schema, "output")(input, "output")).toMatchObject({ ok: false });
    expect(await validatorOf(schema, "input")({ name: "n" }, "input")).toMatchObject({ ok: false });
    // If such a property is given, it is checked.
    expect(await validatorOf(schema, "input")({ ...input, id: 5 }, "input")).toMatchObject({ ok: false });
    const data = { const: { properties: { a: { readOnly: true } }, required: ["a"] } };
    expect(await validatorOf(data)(data.const, "input")).toMatchObject({ ok: true });
  });

  test("without a schema everything passes unchanged", async () => {
    const value = { a: 1 };
    expect(await validatorOf(undefined)(value, "input")).toEqual({ ok: true, value });
    expect(await validatorOf(true)(value, "input")).toEqual({ ok: true, value });
    expect(await validatorOf(false)(value, "input")).toMatchObject({ ok: false });
  });

  test("Standard Schema: the transformed value is what passes", async () => {
    const validate = validatorOf(z.object({ path: z.string().trim(), limit: z.number().default(5) }));
    expect(await validate({ path: " a ", hidden: 1 }, "input")).toEqual({
      ok: true,
      value: { path: "a", limit: 5 },
    });
  });

  test("Standard Schema: problems name the path", async () => {
    const validate = validatorOf(z.object({ items: z.array(z.object({ id: z.string() })) }));
    const result = await validate({ items: [{ id: "a" }, { id: 7 }] }, "input");
    expect(result).toMatchObject({ ok: false, problems: expect.stringContaining("input.items[1].id: ") });
  });

  test("JSON Schema: problems name the path and what was expected", async () => {
    const validate = validatorOf({
      type: "object",
      properties: {
        items: { type: "array", items: { type: "object", properties: { id: { type: "string" } } } },
      },
      required: ["items"],
    });
    expect(await validate({ items: [{ id: "a" }] }, "input")).toMatchObject({ ok: true });
    expect(await validate({ items: [{ id: 7 }] }, "input")).toMatchObject({
      ok: false,
      problems: expect.stringMatching(/^input\.items\[0\]\.id: .*string/),
    });
    expect(await validate({}, "input")).toMatchObject({
      ok: false,
      problems: expect.stringContaining("items"),
    });
  });

  test("JSON Schema: draft-07 and 2020-12 read tuples in their own way", async () => {
    const draft7 = validatorOf({
      $schema: "http://json-schema.org/draft-07/schema#",
      items: [{ type: "number" }],
      additionalItems: false,
    });
    expect(await draft7([1], "input")).toMatchObject({ ok: true });
    expect(await draft7([1, 2], "input")).toMatchObject({ ok: false });
    const latest = validatorOf({ prefixItems: [{ type: "number" }], items: false });
    expect(await latest([1], "input")).toMatchObject({ ok: true });
    expect(await latest([1, 2], "input")).toMatchObject({ ok: false });
  });

  test("lists a few problems and counts the rest", async () => {
    const validate = validatorOf(z.array(z.number()));
    const result = await validate(Array(100).fill("x"), "input");
    expect(result).toMatchObject({ ok: false, problems: expect.stringMatching(/and 97 more$/) });
  });
});

test("Standard Schema: long problems and long paths are cut", async () => {
  const names = Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`k${at}`, 1]));
  const unknown = await validatorOf(z.strictObject({ a: z.string() }))({ a: "x", ...names }, "input");
  expect(unknown).toMatchObject({ ok: false, problems: expect.stringMatching(/^input: .*"k0", "k1".*…$/u) });
  expect(unknown.ok ? "" : unknown.problems).toHaveLength("input: ".length + 1001);
  const name = "n".repeat(100_000);
  const inside = await validatorOf(z.record(z.string(), z.number()))({ [name]: "x" }, "input");
  expect(inside).toMatchObject({ ok: false, problems: expect.stringMatching(/^input\.n{199}…: /u) });
});

describe("a schema and a value that together would take for ever", () => {
  test("gives up a pattern that backtracks", async () => {
    const validate = validatorOf({ type: "string", pattern: "^(a+)+$" });
    expect(await validate("aaaa", "input")).toMatchObject({ ok: true });
    expect(await validate("b", "input")).toMatchObject({
      ok: false,
      problems: expect.stringContaining("pattern"),
    });
    expect(await validate(`${"a".repeat(40)}!`, "input")).toEqual({
      ok: false,
      problems: "input takes too long to check, pass something shorter",
    });
  });

  test("compares all items with each other only if some are equal", async () => {
    const validate = validatorOf({ type: "array", uniqueItems: true });
    expect(await validate([1, 2], "input")).toMatchObject({ ok: true });
    expect(await validate([1, 1], "input")).toMatchObject({ ok: false });
    const many = Array.from({ length: 50_000 }, (_, id) => ({ id, name: "x" }));
    expect(await validate(many, "input")).toMatchObject({ ok: true });
    expect(await validate([...many, { name: "x", id: 49_999 }], "input")).toMatchObject({ ok: false });
  });

  test("a faulty schema refuses everything and reveals no details", async () => {
    const validate = validatorOf({ $ref: "#/$defs/nowhere" });
    expect(await validate({}, "input")).toEqual({
      ok: false,
      problems: "input cannot be checked, the tool's schema is faulty",
    });
  });

  test("a schema that refers to itself in alternatives judges no value twice", async () => {
    const filter: JsonSchema = {
      $ref: "#/$defs/filter",
      $defs: {
        filter: {
          anyOf: [
            { type: "object", properties: { not: { $ref: "#/$defs/filter" } }, required: ["not"] },
            {
              type: "object",
              properties: { not: { $ref: "#/$defs/filter" } },
              required: ["not"],
              minProperties: 1,
            },
          ],
        },
      },
    };
    let deep: unknown = {};
    for (let level = 0; level < 60; level++) deep = { not: deep };
    const result = await validatorWith(filter, "input")(deep, "input", () =>
      Promise.reject(new Error("apart")),
    );
    expect(result).toMatchObject({ ok: false });
  });

  test("a schema that cannot even be read refuses everything and reveals no details", async () => {
    const twice = { $id: "https://internal.example/a", type: "string" };
    const validate = validatorOf({ allOf: [twice, { ...twice }] });
    expect(await validate("x", "input")).toEqual({
      ok: false,
      problems: "input cannot be checked, the tool's schema is faulty",
    });
  });
});

describe("a late schema", () => {
  const standard = z.unknown()["~standard"];
  const text: JsonSchema = { type: "string" };

  test.each<[string, () => StandardSchema | JsonSchema | Promise<JsonSchema>]>([
    ["JSON Schema", () => text],
    ["JSON Schema, later", () => Promise.resolve(text)],
    ["a Standard Schema", () => z.string()],
  ])("validates as what it turns out to be: %s", async (_, read) => {
    const validate = validatorOf(toLateSchema(read, { ...standard, jsonSchema: {} }));
    expect(await validate("a", "input")).toEqual({ ok: true, value: "a" });
    expect(await validate(1, "input")).toMatchObject({ ok: false });
  });

  test("is not read before something is validated", async () => {
    let reads = 0;
    const late = toLateSchema(() => (reads++, text), { ...standard, jsonSchema: {} });
    const validate = validatorWith(late, "input");
    expect(reads).toBe(0);
    await validate("a", "input", () => Promise.resolve({ kind: "unknown" }));
    expect(reads).toBe(1);
  });
});
