/** Whatever the schema: it is printed, the same each time, within its bounds, and as TypeScript that compiles. */
import fc from "fast-check";
import { renderType, type RenderTypeOptions } from "codecell/declare";
import { expect, test, vi } from "vitest";
import { effort, TIMES } from "../property/effort.ts";
import { compile } from "./compile.ts";
import { anySchema, MARK, plainSchema, valueOf } from "./random-schemas.ts";

vi.setConfig({ testTimeout: 60_000 * TIMES });

const options: fc.Arbitrary<RenderTypeOptions> = fc.record(
  {
    docs: fc.oneof(fc.constantFrom("full" as const, "none" as const), fc.integer({ min: 1, max: 60 })),
    maxCharacters: fc.integer({ min: 80, max: 5000 }),
    direction: fc.constantFrom("input" as const, "output" as const),
  },
  { requiredKeys: [] },
);

type JsonSchema = Parameters<typeof renderType>[1];

test("[declare:any-schema] a schema never throws, and equal ones give equal texts within the bound", () => {
  fc.assert(
    fc.property(anySchema, options, (schema, given) => {
      const text = renderType("T", schema as JsonSchema, given);
      expect(text.length).toBeLessThanOrEqual(given.maxCharacters ?? 40_000);
      expect(renderType("T", structuredClone(schema) as JsonSchema, given)).toBe(text);
    }),
    effort(2000),
  );
});

test("[declare:any-schema] every text compiles", async () => {
  const { seed, numRuns } = effort(600);
  const cases = fc.sample(fc.tuple(anySchema, options), { seed, numRuns });
  const texts = cases.map(([schema, given]) => renderType("T", schema as JsonSchema, given));
  const errors = await compile(texts.map((text) => `${text}\nlet value:T`));
  const faulty = texts.flatMap((text, index) => {
    const found = [...(errors[index] ?? [])];
    return found.length === 0 ? [] : { schema: JSON.stringify(cases[index]?.[0]), text, found };
  });
  expect(faulty.slice(0, 3)).toEqual([]);
});

test("[declare:comments] words never leave their comment", () => {
  fc.assert(
    fc.property(anySchema, options, (schema, given) => {
      const text = renderType("T", schema as JsonSchema, given);
      // Types may be named after words of the schema.
      const code = withoutCommentsAndTexts(text).replaceAll(/\b[A-Z]\w*/gu, "");
      expect(code).not.toContain(MARK);
      expect(code).not.toMatch(/[/\\]\*|\*\//u);
    }),
    effort(2000),
  );
});

test("[declare:faithful] values made from a schema are values of its type", async () => {
  const root = fc
    .tuple(plainSchema, plainSchema, plainSchema)
    .map(([schema, a, b]) => ({ allOf: [schema], $defs: { A: a, B: b } }));
  const withValue = root.chain((schema) =>
    fc.tuple(
      fc.constant(schema),
      firstValue(schema),
      fc.oneof(fc.constant(40_000), fc.integer({ min: 80, max: 300 })),
    ),
  );
  const { seed, numRuns } = effort(400);
  const cases = fc.sample(withValue, { seed, numRuns }).filter(([, value]) => value !== undefined);
  expect(cases.length).toBeGreaterThan(numRuns / 2);
  const texts = cases.map(([schema, value, maxCharacters]) => {
    const type = renderType("T", schema, { maxCharacters });
    return `${type}\nconst value:T=${JSON.stringify(value)}`;
  });
  const errors = await compile(texts);
  const faulty = texts.flatMap((text, index) => {
    const found = [...(errors[index] ?? [])];
    return found.length === 0 ? [] : { schema: JSON.stringify(cases[index]?.[0]), text, found };
  });
  expect(faulty.slice(0, 3)).toEqual([]);
});

/** Undefined for schemas without finite values. */
function firstValue(schema: { allOf: readonly Readonly<Record<string, unknown>>[] }): fc.Arbitrary<unknown> {
  try {
    return valueOf(schema.allOf[0] ?? {}, schema);
  } catch {
    return fc.constant(undefined);
  }
}

function withoutCommentsAndTexts(text: string): string {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|\/\*.*?\*\//gsu, " ");
}
