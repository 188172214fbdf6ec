import { describe, expect, test } from "vitest";
import { z } from "zod";
import { renderType } from "./render-type.ts";

type Schema = Parameters<typeof renderType>[1];

const object = (
  properties: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
): Schema => ({
  type: "object",
  properties,
  ...more,
});

describe("renderType", () => {
  test.each<readonly [string, Schema, string]>([
    [
      "fields",
      object({ a: { type: "string" }, "b-c": { type: "integer" } }, { required: ["a"] }),
      'type T={a:string, /** int */ "b-c"?:number}',
    ],
    [
      "nullable and type lists",
      object({ a: { type: "string", nullable: true }, b: { type: ["number", "null"] } }),
      "type T={a?:string|null,b?:number|null}",
    ],
    ["maps", { type: "object", additionalProperties: { type: "number" } }, "type T=Record<string,number>"],
    ["an empty object", { type: "object", additionalProperties: false }, "type T=Record<string,never>"],
    ["any object", { type: "object" }, "type T=Record<string,unknown>"],
    [
      "an index wide enough for the fields",
      object({ a: { type: "number" } }, { additionalProperties: { type: "string" } }),
      "type T={a?:number,[k:string]:string|number|undefined}",
    ],
    [
      "prefixes",
      { type: "object", patternProperties: { "^x-": { type: "string" } } },
      "type T={[k:`x-${string}`]:string}",
    ],
    [
      "tuples of 2020-12",
      { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], minItems: 1, items: false },
      "type T=[string,number?]",
    ],
    [
      "tuples of draft 7",
      { type: "array", items: [{ type: "string" }], minItems: 1, additionalItems: { type: "number" } },
      "type T=[string,...number[]]",
    ],
    ["enumerations", { enum: ["a", 1, null, { b: ["c"] }] }, 'type T="a"|1|null|{b:["c"]}'],
    [
      "all of several",
      { allOf: [object({ a: { type: "string" } }), object({ b: { type: "number" } })] },
      "type T={a?:string,b?:number}",
    ],
    [
      "one of several",
      { oneOf: [{ type: "string" }, { type: "array", items: { enum: ["x", "y"] } }] },
      'type T=string|("x"|"y")[]',
    ],
    [
      "alternatives that only require",
      object({ a: { type: "string" } }, { anyOf: [{ required: ["a"] }, { required: ["b"] }] }),
      "type T=({a:unknown}|{b:unknown})&{a?:string}",
    ],
    [
      "recursion",
      { $ref: "#/$defs/N", $defs: { N: object({ next: { $ref: "#/$defs/N" } }) } },
      "type T={next?:T}",
    ],
    [
      "a reference by anchor",
      { ...(object({ a: { $ref: "#x" } }) as object), $defs: { X: { $anchor: "x", type: "boolean" } } },
      "type T={a?:boolean}",
    ],
    ["a reference to nowhere", { $ref: "https://example.com/schema.json" }, "type T=unknown"],
    ["nothing but itself", { $ref: "#" }, "type T=unknown"],
    ["itself or a text", { anyOf: [{ $ref: "#" }, { type: "string" }] }, "type T=string"],
    [
      "itself or null or a text",
      { anyOf: [{ $ref: "#", nullable: true }, { type: "string" }] },
      "type T=null|string",
    ],
    ["booleans", object({ a: true, b: false }), "type T={a?:unknown,b?:never}"],
    [
      "fields of a condition",
      object({ a: { type: "string" } }, { else: { properties: { b: { type: "string" } } } }),
      "type T={a?:string,b?:unknown}",
    ],
  ])("%s", (_, schema, text) => {
    expect(renderType("T", schema)).toBe(text);
  });

  test("a discriminator's values become literals", () => {
    const schema = {
      oneOf: [{ $ref: "#/$defs/Cat" }, { $ref: "#/$defs/Dog" }],
      discriminator: { propertyName: "kind", mapping: { cat: "#/$defs/Cat", dog: "Dog" } },
      $defs: {
        Cat: object({ kind: { type: "string" }, lives: { type: "number" } }),
        Dog: object({ kind: { const: "dog" } }, { required: ["kind"] }),
      },
    };
    expect(renderType("T", schema)).toBe('type T=({kind?:string,lives?:number}&{kind:"cat"})|{kind:"dog"}');
  });

  test("inputs leave out read-only fields, outputs write-only fields", () => {
    const schema = object(
      { id: { type: "string", readOnly: true }, secret: { $ref: "#/$defs/S" }, name: { type: "string" } },
      { required: ["id"], $defs: { S: { type: "string", writeOnly: true } } },
    );
    expect(renderType("T", schema, { direction: "input" })).toBe("type T={secret?:string,name?:string}");
    expect(renderType("T", schema, { direction: "output" })).toBe("type T={id:string,name?:string}");
    expect(renderType("T", schema)).toBe("type T={id:string,secret?:string,name?:string}");
  });

  test("descriptions, formats, bounds and defaults become a comment", () => {
    const schema = object({
      at: {
        type: "string",
        format: "date-time",
        description: "When it **began**, see [the manual](https://x.y).\n\nIn UTC.",
      },
      size: { type: "integer", minimum: 1, maximum: 9, default: 3 },
      tags: { type: "array", items: { type: "string" }, minItems: 1, uniqueItems: true },
      old: { type: "boolean", deprecated: true, default: false, description: "Default is false." },
    });
    const full =
      "type T={/** When it began, see the manual. In UTC. date-time */ at?:string, /** int, 1..9, default 3 */ size?:number, " +
      "/** not empty, unique */ tags?:string[], /** Default is false. deprecated */ old?:boolean}";
    expect(renderType("T", schema)).toBe(full);
    expect(renderType("T", schema, { docs: 30 })).toContain("/** When it began, see… date-time */ at");
    expect(renderType("T", schema, { docs: "none" })).toBe(
      "type T={at?:string,size?:number,tags?:string[],old?:boolean}",
    );
  });

  test("bounds that hold for every integer are not shown", () => {
    const { MAX_SAFE_INTEGER: most, MIN_SAFE_INTEGER: least } = Number;
    const any = { type: "integer", minimum: least, maximum: most } as const;
    expect(renderType("T", any)).toBe("/** int */ type T=number");
    expect(renderType("T", { ...any, minimum: 1 })).toBe("/** int, >=1 */ type T=number");
  });

  test("a type that is used often is declared once, with the comment that all uses share", () => {
    const place = object({
      city: { type: "string" },
      street: { type: "string" },
      zip: { type: "string" },
    }) as object;
    const schema = object({
      from: { ...place, description: "An address" },
      to: { ...place, description: "An address" },
    });
    expect(renderType("T", schema)).toBe(
      "type T={from?:From,to?:From}\n/** An address */ type From={city?:string,street?:string,zip?:string}",
    );
  });

  test("equal schemas give equal texts, whether or not their parts are the same objects", () => {
    const place = { type: "object", properties: { city: { type: "string" } }, title: "Place" };
    const shared = object({ a: place, b: place, c: { items: place } });
    expect(renderType("T", shared)).toBe(renderType("T", JSON.parse(JSON.stringify(shared)) as Schema));
  });

  test("[declare:bounded] what does not fit is left out, and counted", () => {
    const fields = Array.from({ length: 30 }, (_, index) => [
      `field_${index}`,
      { type: "string", description: "Words" },
    ]);
    const schema = object(Object.fromEntries(fields));
    expect(renderType("T", schema, { maxCharacters: 500 })).not.toContain("Words");
    const text = renderType("T", schema, { maxCharacters: 300 });
    expect(text).toBe(
      `type T={${Array.from({ length: 8 }, (_, index) => `field_${index}?:string`).join(",")},[k:string]:unknown/* …22 more fields */}`,
    );
    const values = { enum: Array.from({ length: 500 }, (_, index) => `value ${index}`) };
    expect(renderType("T", values, { maxCharacters: 200 })).toContain("|string/* …484 more */");
  });

  test("Standard Schemas are converted for the direction", () => {
    const schema = z.object({ id: z.string(), days: z.number().default(3) });
    expect(renderType("T", schema, { direction: "input" })).toBe(
      "type T={id:string, /** default 3 */ days?:number}",
    );
    expect(renderType("T", schema, { direction: "output" })).toBe(
      "type T={id:string, /** default 3 */ days:number}",
    );
  });

  test("wrong names and options are refused", () => {
    expect(() => renderType("a b", {})).toThrow(TypeError);
    expect(() => renderType("T", {}, { docs: 0 })).toThrow(RangeError);
    expect(() => renderType("T", {}, { maxCharacters: 10 })).toThrow(RangeError);
  });
});
