import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { type CallContext, defineTool, type Tool } from "./tool.ts";

test("execute takes what a Standard Schema gives", () => {
  const tool = defineTool({
    input: z.object({ city: z.string(), days: z.number().default(1) }),
    output: z.object({ celsius: z.number() }),
    execute: (input, call) => {
      expectTypeOf(input).toEqualTypeOf<{ city: string; days: number }>();
      expectTypeOf(call).toEqualTypeOf<CallContext>();
      return { celsius: 20 };
    },
  });
  expectTypeOf(tool).toExtend<Tool<{ city: string; days: number }, { celsius: number }>>();
});

test("execute must return what the output schema takes", () => {
  defineTool({
    input: z.object({ city: z.string() }),
    output: z.object({ celsius: z.number() }),
    // @ts-expect-error a text is not a number
    execute: () => ({ celsius: "warm" }),
  });
});

test("execute takes what a literal JSON Schema describes", () => {
  defineTool({
    input: {
      type: "object",
      properties: {
        id: { type: "integer" },
        tags: { type: "array", items: { type: "string" } },
        state: { enum: ["open", "closed"] },
        note: { type: ["string", "null"] },
        size: { anyOf: [{ type: "number" }, { const: "auto" }] },
      },
      required: ["id", "tags"],
    },
    execute: (input) => {
      expectTypeOf(input).toEqualTypeOf<{
        id: number;
        tags: string[];
        state?: "open" | "closed";
        note?: string | null;
        size?: number | "auto";
      }>();
      return null;
    },
  });
});

test("without a schema the annotation of execute counts", () => {
  const tool = defineTool({ execute: (input: { ms: number }) => input.ms });
  expectTypeOf(tool).toEqualTypeOf<Tool<{ ms: number }, number>>();
});

test("a schema and an annotation that disagree do not compile", () => {
  defineTool({
    // @ts-expect-error the schema gives no town
    input: z.object({ city: z.string() }),
    execute: (input: { town: string }) => input.town,
  });
});

test("an async iterable may be returned", () => {
  defineTool({
    input: z.object({ n: z.number() }),
    output: z.number(),
    async *execute({ n }) {
      for (let i = 0; i < n; i++) yield i;
    },
  });
});
