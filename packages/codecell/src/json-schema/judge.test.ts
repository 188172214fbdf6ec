import { describe, expect, test } from "vitest";
import { createJudge, type Effort, type Verdict } from "./judge.ts";

const HERE: Effort = { steps: 50_000, mayBeSlow: false };
const ANYWHERE: Effort = { steps: 10_000_000, mayBeSlow: true };

function verdict(schema: Readonly<Record<string, unknown>>, value: unknown, effort = HERE): Verdict {
  return createJudge(schema, "input")(value, "input", effort);
}

function problems(schema: Readonly<Record<string, unknown>>, value: unknown): string {
  const found = verdict(schema, value);
  return found.kind === "unfit" ? found.problems.join("; ") : found.kind;
}

describe("a problem is reported with its place and with what is expected there", () => {
  const order = {
    type: "object",
    properties: {
      id: { type: "integer", minimum: 1 },
      state: { enum: ["open", "closed"] },
      lines: {
        type: "array",
        items: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] },
      },
      email: { type: "string", format: "email" },
      code: { type: "string", pattern: "^[A-Z]{3}$" },
      note: { type: ["string", "null"], maxLength: 3 },
    },
    required: ["id"],
    additionalProperties: false,
  };
  test.each([
    [{}, 'input: lacks the property "id"'],
    [{ id: "7" }, "input.id: must be an integer, is a string"],
    [{ id: 0 }, "input.id: must be at least 1"],
    [{ id: 1, state: "gone" }, 'input.state: must be one of "open", "closed"'],
    [{ id: 1, lines: [{ sku: "a" }, {}] }, 'input.lines[1]: lacks the property "sku"'],
    [{ id: 1, email: "nobody" }, "input.email: must have the format email"],
    [{ id: 1, code: "abc" }, "input.code: must match the pattern ^[A-Z]{3}$"],
    [{ id: 1, note: "long" }, "input.note: must have at most 3 characters"],
    [{ id: 1, note: 5 }, "input.note: must be a string or null, is a number"],
    [
      { id: 1, status: "open" },
      'input: must not have the property "status", known are "id", "state", "lines", "email", "code", "note"',
    ],
  ])("%j", (value, expected) => {
    expect(problems(order, value)).toBe(expected);
  });

  test("reports the problems of the alternative that was meant", () => {
    const shape = (kind: string, member: string): object => ({
      type: "object",
      properties: { kind: { const: kind }, [member]: { type: "number" } },
      required: ["kind", member],
    });
    const schema = { anyOf: [shape("circle", "radius"), shape("square", "side"), { type: "string" }] };
    expect(problems(schema, { kind: "square", side: "1" })).toBe("input.side: must be a number, is a string");
    expect(problems(schema, { kind: "square" })).toBe('input: lacks the property "side"');
    expect(problems(schema, 5)).toBe("input: fits none of the 3 alternatives");
    expect(problems({ oneOf: [{ minimum: 1 }, { maximum: 5 }] }, 3)).toContain("more than one");
  });

  test("reports few problems, and no long text of a program", () => {
    const wrong = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, 1]));
    const found = verdict({ additionalProperties: { type: "string" } }, wrong);
    expect(found.kind === "unfit" && found.problems.length).toBe(3);
    const long = "x".repeat(100_000);
    expect(problems({ additionalProperties: false }, { [long]: 1 }).length).toBeLessThan(400);
    expect(problems({ additionalProperties: { type: "string" } }, { [long]: 1 }).length).toBeLessThan(400);
  });
});

describe("the steps of judging", () => {
  test("have the same count on every machine", () => {
    const value = Array.from({ length: 1000 }, (_, id) => ({ id }));
    const schema = { items: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] } };
    const needed = (steps: number): boolean =>
      verdict(schema, value, { steps, mayBeSlow: false }).kind === "fits";
    let [low, high] = [0, 100_000];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (needed(middle)) high = middle;
      else low = middle;
    }
    expect(needed(high)).toBe(true);
    expect(needed(high - 1)).toBe(false);
    expect(high).toBeLessThan(10_000);
  });

  test("end every long judging with the answer unknown [host:judged-in-steps]", () => {
    const many = Array.from({ length: 60_000 }, (_, index) => index);
    const types = Array.from({ length: 24 }, (_, index) => ({
      type: "object",
      properties: { [`p${index}`]: { type: "string" } },
    }));
    for (const schema of [
      { items: { type: "number" } },
      { items: { anyOf: [...types, { type: "number" }] } },
      { uniqueItems: true, items: true },
      { contains: { type: "string" }, minContains: 0 },
      { unevaluatedItems: { type: "number" } },
      { items: { not: { type: "string" } } },
    ]) {
      expect(verdict(schema, many).kind).toBe("unknown");
    }
    const keys = Object.fromEntries(many.map((index) => [`k${index}`, 1]));
    for (const schema of [
      { additionalProperties: { type: "number" } },
      { propertyNames: { maxLength: 9 } },
      { patternProperties: { "^k": { type: "number" } } },
      { unevaluatedProperties: { type: "number" } },
      { enum: [{}] },
      { maxProperties: 1e6 },
    ]) {
      expect(verdict(schema, keys).kind).toBe("unknown");
    }
  });

  test("are few if the first item is wrong", () => {
    expect(verdict({ items: { type: "string" } }, Array(200_000).fill(1)).kind).toBe("unfit");
    expect(verdict({ type: "object" }, Array(500_000).fill(1)).kind).toBe("unfit");
  });

  test("are spent once on a part that several references lead to", () => {
    const levels = Object.fromEntries(
      Array.from({ length: 40 }, (_, level) => [
        `l${level}`,
        { anyOf: [{ $ref: `#/$defs/l${level + 1}` }, { $ref: `#/$defs/l${level + 1}` }] },
      ]),
    );
    const schema = { $ref: "#/$defs/l0", $defs: { ...levels, l40: { required: ["a"] } } };
    expect(verdict(schema, { a: 1 }).kind).toBe("fits");
    expect(verdict(schema, {}).kind).toBe("unfit");
  });

  test("end a schema that refers to itself for ever", () => {
    const schema = { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } };
    expect(["unknown", "faulty"]).toContain(verdict(schema, 1).kind);
    expect(["unknown", "faulty"]).toContain(verdict(schema, {}, ANYWHERE).kind);
  });
});

describe("patterns and formats that a program could get stuck in", () => {
  test("run here only if they are proven cheap for the text", () => {
    expect(verdict({ pattern: "^(a+)+$" }, "aaa").kind).toBe("unknown");
    expect(verdict({ pattern: "^[a-z]+(-[a-z]+)*$" }, "a-b-c").kind).toBe("fits");
    expect(verdict({ pattern: "^a*a*a*a*$" }, "a".repeat(10)).kind).toBe("fits");
    expect(verdict({ pattern: "^a*a*a*a*$" }, "a".repeat(1000)).kind).toBe("unknown");
    expect(verdict({ patternProperties: { "(a+)+$": false } }, { a: 1 }).kind).toBe("unknown");
    expect(verdict({ format: "regex" }, "(?:a{1,9}){1,9}".repeat(1000)).kind).toBe("unknown");
    expect(verdict({ format: "regex" }, "[").kind).toBe("unfit");
  });

  test("a property named pattern is an ordinary property", () => {
    const schema = { type: "object", properties: { pattern: { type: "string" }, $ref: { type: "string" } } };
    expect(verdict(schema, { pattern: "^(a+)+$", $ref: "x" }).kind).toBe("fits");
  });

  const hostile = [
    `http://${"a".repeat(45)}!`,
    `http://${"a-".repeat(30_000)}`,
    "a.".repeat(30_000),
    "1:".repeat(30_000),
    `"${"\\a".repeat(30_000)}@`,
    `{${"a.".repeat(30_000)}`,
    `${"{a}".repeat(20_000)}{`,
    `P${"1".repeat(60_000)}`,
    `//${"[".repeat(60_000)}`,
    `${"%41".repeat(20_000)}%`,
    `/${"~0".repeat(30_000)}~`,
    "@".repeat(60_000),
  ];
  const formats = [
    "date",
    "time",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "uri-template",
    "url",
    "uuid",
    "json-pointer",
    "json-pointer-uri-fragment",
    "relative-json-pointer",
  ];
  test.each(formats)("format %s gives an answer for every text", (format) => {
    for (const text of hostile) expect(["fits", "unfit"]).toContain(verdict({ format }, text).kind);
    expect(verdict({ format }, "a".repeat(1_000_000)).kind).not.toBe("fits");
  });

  test("the format url accepts web URLs only", () => {
    for (const url of [
      "http://a.example",
      "https://u:p@x.example:80/y?z#w",
      "ftp://1.2.3.4/a",
      "http://mañana.example",
    ]) {
      expect([url, verdict({ format: "url" }, url).kind]).toEqual([url, "fits"]);
    }
    for (const url of [
      "",
      "a.example",
      "http://",
      "http://a",
      "http://a b.example",
      "javascript:1",
      "http://-a.example",
    ]) {
      expect([url, verdict({ format: "url" }, url).kind]).toEqual([url, "unfit"]);
    }
  });
});

describe("a value is judged as JSON prints it", () => {
  test("dates are strings, undefined members are absent", () => {
    expect(verdict({ type: "string", format: "date-time" }, new Date(0)).kind).toBe("fits");
    expect(verdict({ required: ["a"] }, { a: undefined }).kind).toBe("unfit");
    expect(verdict({ additionalProperties: false }, { a: undefined, b: () => 1 }).kind).toBe("fits");
    expect(verdict({ items: { type: "null" } }, [undefined]).kind).toBe("fits");
    expect(verdict({ minProperties: 1 }, { a: undefined }).kind).toBe("unfit");
  });

  test("only own members count", () => {
    expect(verdict({ required: ["toString"] }, {}).kind).toBe("unfit");
    expect(verdict({ properties: { constructor: { type: "number" } } }, {}).kind).toBe("fits");
    expect(verdict({ required: ["__proto__"] }, JSON.parse('{"__proto__":1}')).kind).toBe("fits");
  });

  test("OpenAPI's nullable allows null", () => {
    expect(verdict({ type: "string", nullable: true }, null).kind).toBe("fits");
    expect(verdict({ type: "string" }, null).kind).toBe("unfit");
  });
});

describe("numbers", () => {
  test.each([
    [2, 9007199254740991, "unfit"],
    [1, 3.0000000005, "unfit"],
    [0.01, 0.29, "fits"],
    [0.0001, 0.0075, "fits"],
  ])("multiples of %d: %d", (multipleOf, value, kind) => {
    expect(verdict({ multipleOf }, value).kind).toBe(kind);
  });

  test("NaN and the infinities count as null", () => {
    expect(verdict({ type: "number" }, Number.NaN).kind).toBe("unfit");
    expect(verdict({ type: "null" }, Number.POSITIVE_INFINITY).kind).toBe("fits");
  });
});

describe("long texts and deep values", () => {
  test("a uri may be very long", () => {
    expect(verdict({ format: "uri" }, `data:image/png;base64,${"A".repeat(70_000)}`, ANYWHERE).kind).toBe(
      "fits",
    );
    expect(verdict({ format: "uri" }, "urn:a:b:").kind).toBe("fits");
  });

  test("are compared in bounded steps, too", () => {
    let deep: unknown = "x".repeat(250_000);
    for (let level = 0; level < 300; level++) deep = [1, deep];
    const unique = { type: "array", uniqueItems: true };
    expect(verdict(unique, [deep, 1]).kind).toBe("fits");
    expect(verdict(unique, [deep, 1], { steps: 1000, mayBeSlow: true }).kind).toBe("unknown");
    const expressions = Array.from({ length: 60 }, (_, index) => "\\p{L}\\p{Lu}".repeat(20) + index);
    expect(verdict({ items: { format: "regex" } }, expressions).kind).toBe("unknown");
  });

  test("names of members that JSON leaves out are not judged", () => {
    expect(verdict({ propertyNames: { pattern: "^a" } }, { a: 1, b: undefined }).kind).toBe("fits");
  });
});

describe("a schema that cannot be used", () => {
  test.each([
    [{ type: "strng" }, 5],
    [{ required: "a" }, {}],
    [{ enum: "a" }, "b"],
    [{ minimum: "5" }, 1],
    [{ allOf: { type: "string" } }, 1],
  ])("%j has a keyword of the wrong kind and refuses every value", (schema, value) => {
    expect(verdict(schema, value).kind).toBe("faulty");
  });

  test.each([
    [{ $ref: "#/nowhere" }],
    [{ $ref: "https://elsewhere.example/schema.json" }],
    [{ properties: { a: 5 } }],
    [{ items: "x" }],
    [{ allOf: [{ $id: "https://a.example" }, { $id: "https://a.example" }] }],
  ])("%j refuses every value", (schema) => {
    expect(verdict(schema, { a: 1 }).kind === "faulty" || verdict(schema, [1]).kind === "faulty").toBe(true);
  });

  test("a pattern with needless escapes works as it was meant", () => {
    expect(verdict({ pattern: "^\\_a\\-b$" }, "_a-b", ANYWHERE).kind).toBe("fits");
    expect(verdict({ pattern: "(" }, "x", ANYWHERE).kind).toBe("faulty");
  });

  test("a very deeply nested schema does not overflow the stack", () => {
    let schema: object = {};
    for (let level = 0; level < 20_000; level++) schema = { not: schema };
    expect(["unknown", "faulty"]).toContain(verdict(schema as Readonly<Record<string, unknown>>, 1).kind);
  });
});

describe("patterns that take long to compile", () => {
  // A class of a few characters takes a tenth of a millisecond to compile, wherever it stands.
  const many = `^[${"\\p{L}".repeat(700)}]+$`;

  test("[host:short-turns] are compiled on another thread", () => {
    expect(verdict({ pattern: many }, "a")).toEqual({ kind: "unknown" });
    expect(verdict({ pattern: many }, "a", ANYWHERE)).toEqual({ kind: "fits" });
    expect(verdict({ patternProperties: { [many]: false } }, { a: 1 })).toEqual({ kind: "unknown" });
  });

  test("are compiled a few at a time, so that all are known in the end", () => {
    const pattern = `^${"[\\p{L}\\p{N}]".repeat(20)}`;
    const properties = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`f${at}`, { pattern }]));
    const value = Object.fromEntries(Object.keys(properties).map((name) => [name, "a".repeat(20)]));
    const judge = createJudge({ properties }, "input");
    const kinds = Array.from({ length: 4 }, () => judge(value, "input", HERE).kind);
    expect(kinds).toEqual(["unknown", "unknown", "fits", "fits"]);
  });
});
