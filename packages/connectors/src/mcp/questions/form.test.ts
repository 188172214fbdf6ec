import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { filledIn } from "./form.ts";

const choices = ["red", "blue"];

/** A property of a form, with what fits it. */
const property = fc.oneof(
  fc.record({ schema: fc.constant({ type: "string" }), value: fc.string() }),
  fc.record({ schema: fc.constant({ type: "boolean" }), value: fc.boolean() }),
  fc.record({ schema: fc.constant({ type: "integer", minimum: -5 }), value: fc.integer({ min: -5 }) }),
  fc.record({
    schema: fc.constant({ type: "number" }),
    value: fc.double({ noNaN: true, noDefaultInfinity: true }),
  }),
  fc.record({ schema: fc.constant({ type: "string", enum: choices }), value: fc.constantFrom(...choices) }),
  fc.record({
    schema: fc.constant({ type: "string", oneOf: choices.map((one) => ({ const: one, title: one })) }),
    value: fc.constantFrom(...choices),
  }),
  fc.record({
    schema: fc.constant({ type: "array", items: { type: "string", enum: choices } }),
    value: fc.subarray(choices),
  }),
);

const forms = fc.dictionary(
  fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor")),
  fc.record({ property, isGiven: fc.boolean(), hasDefault: fc.boolean(), isRequired: fc.boolean() }),
);

describe("a form", () => {
  test("that fits is given on as it is, with its defaults, and nothing else", () => {
    fc.assert(
      fc.property(forms, (fields) => {
        const entries = Object.entries(fields);
        const asked = {
          type: "object",
          properties: Object.fromEntries(
            entries.map(
              ([
                name,
                {
                  property: { schema, value },
                  hasDefault,
                },
              ]) => [name, { ...schema, ...(hasDefault && { default: value }) }],
            ),
          ),
          required: entries.filter(([, one]) => one.isRequired).map(([name]) => name),
        };
        const given = Object.fromEntries(
          entries.filter(([, one]) => one.isGiven).map(([name, one]) => [name, one.property.value]),
        );
        const there = entries.filter(([, one]) => one.isGiven || one.hasDefault);
        const isComplete = entries.every(([, one]) => !one.isRequired || one.isGiven || one.hasDefault);
        const filled = filledIn(asked, given);
        if (isComplete)
          expect(filled).toEqual({
            content: Object.fromEntries(there.map(([name, one]) => [name, one.property.value])),
          });
        else expect(filled).toHaveProperty("wrong");
      }),
    );
  });

  test("never makes anything throw", () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (schema, given) => {
        filledIn(schema, given);
        filledIn({ properties: { a: schema } }, { a: given });
      }),
    );
  });

  test.each<[schema: object, value: unknown, wrong: string]>([
    [{ type: "string" }, 5, '"a" has to be a text'],
    [{ type: "string", minLength: 2 }, "x", '"a" has to have 2 characters'],
    [{ type: "string", maxLength: 1 }, "😀😀", '"a" has more than 1 characters'],
    [{ type: "string", enum: ["x"] }, "y", '"a" is none of the choices'],
    [{ type: "string", oneOf: [{ const: "x" }] }, "y", '"a" is none of the choices'],
    [{ type: "string", format: "email" }, "ann", '"a" has to be of the format email'],
    [{ type: "string", format: "uri" }, "ann", '"a" has to be of the format uri'],
    [{ type: "string", format: "date" }, "2026-13-01", '"a" has to be of the format date'],
    [{ type: "string", format: "date-time" }, "2026-01-01", '"a" has to be of the format date-time'],
    [{ type: "number" }, Number.NaN, '"a" has to be a number'],
    [{ type: "integer" }, 0.5, '"a" has to be a whole number'],
    [{ type: "number", minimum: 2 }, 1, '"a" has to be 2 or more'],
    [{ type: "number", maximum: 2 }, 3, '"a" has to be 2 or less'],
    [{ type: "boolean" }, "yes", '"a" has to be true or false'],
    [{ type: "array", items: { enum: ["x"] } }, ["y"], '"a" has what is none of the choices'],
    [{ type: "array", items: { enum: ["x"] }, minItems: 1 }, [], '"a" has to have 1 items'],
    [{ type: "array", items: { enum: ["x"] }, maxItems: 1 }, ["x", "x"], '"a" has more than 1 items'],
    [{ type: "array" }, "x", '"a" has to be a list'],
    [{ type: "object" }, {}, '"a" is of no kind that a form has'],
  ])("that does not fit is refused: %j %j", (schema, value, wrong) => {
    expect(filledIn({ properties: { a: schema } }, { a: value })).toEqual({ wrong });
  });

  test("takes the formats that it knows, and any other", () => {
    const formats = {
      email: "ann@example.com",
      uri: "a:b",
      date: "2026-02-03",
      "date-time": "2026-02-03T04:05Z",
      x: "y",
    };
    for (const [format, text] of Object.entries(formats))
      expect(filledIn({ properties: { a: { type: "string", format } } }, { a: text })).toEqual({
        content: { a: text },
      });
  });
});
