import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../contract/tool.ts";
import type { GuestApi } from "./guest-api.ts";

const weather = defineTool({
  input: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, celsius: 20, at: new Date() }),
});
const forecast = {
  input: z.object({ city: z.string(), days: z.number().default(3) }),
  output: z.object({ celsius: z.string().transform(Number) }),
  execute: (): { celsius: string } => ({ celsius: "20" }),
};
const later = defineTool({
  input: z.object({ city: z.string(), days: z.number().default(3) }),
  output: z.object({ celsius: z.string().transform(Number) }),
  execute: ({ days }) => ({ celsius: days.toFixed() }),
});
const counted = defineTool({
  input: { type: "object", properties: { text: { type: "string" } } },
  output: z.string().transform(Number),
  execute: ({ text = "" }) => text,
});
const search = defineTool({
  input: {
    type: "object",
    properties: { text: { type: "string" }, limit: { type: "integer" } },
    required: ["text"],
  },
  async *execute({ text }) {
    yield { found: [text] };
  },
});
const now = defineTool({ execute: () => undefined });
const noted = { execute: (_note: string): void => undefined };

declare const tools: GuestApi<{
  weather: typeof weather;
  forecast: typeof forecast;
  later: typeof later;
  counted: typeof counted;
  search: typeof search;
  now: typeof now;
  noted: typeof noted;
}>;

test("[declare:guest-api] inputs have the types that the schemas accept", () => {
  expectTypeOf(tools.weather).parameters.toEqualTypeOf<[{ city: string }]>();
  expectTypeOf(tools.forecast).parameters.toEqualTypeOf<[{ city: string; days?: number | undefined }]>();
  expectTypeOf(tools.later).parameters.toEqualTypeOf<[{ city: string; days?: number | undefined }]>();
  expectTypeOf(tools.search).parameters.toEqualTypeOf<[{ text: string; limit?: number }]>();
  expectTypeOf(tools.now).toBeCallableWith();
  expectTypeOf(tools.noted).parameters.toEqualTypeOf<[string]>();
});

test("[declare:guest-api] outputs have the types that arrive after the transfer as JSON", () => {
  expectTypeOf(tools.weather).returns.resolves.toEqualTypeOf<{ city: string; celsius: number; at: string }>();
  expectTypeOf(tools.forecast).returns.resolves.toEqualTypeOf<{ celsius: number }>();
  expectTypeOf(tools.later).returns.resolves.toEqualTypeOf<{ celsius: number }>();
  expectTypeOf(tools.counted).returns.resolves.toEqualTypeOf<number>();
  expectTypeOf(tools.search).returns.resolves.toEqualTypeOf<{ found: string[] }>();
  expectTypeOf(tools.now).returns.resolves.toEqualTypeOf<null>();
});

test("[declare:guest-api] the compiler finds mistakes", () => {
  // @ts-expect-error no such tool
  void tools.wether;
  // @ts-expect-error no such field
  void tools.weather({ town: "Oslo" });
  // @ts-expect-error a field is missing
  void tools.search({});
  // @ts-expect-error tools are given by the host
  tools.now = () => Promise.resolve(null);
});
