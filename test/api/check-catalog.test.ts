/** The check before a run of the catalog profile knows the globals and helpers of that profile. */
import { createHost, type GuestCatalog, type ToolSet } from "codecell";
import { createChecker } from "codecell/check";
import { afterAll, expect, test } from "vitest";

const weather = {
  input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  execute: () => 7,
};
const tools: ToolSet = {
  weather,
  "core:core:weather": weather,
  "catalog.search": { execute: () => [{ id: "core:core:weather" }] },
  "catalog.describe": { execute: () => ({ parameters: {} }) },
  "catalog.load": { execute: () => 1 },
};
const catalog: GuestCatalog = {
  names: new Set(["weather"]),
  allTools: () => JSON.stringify([{ id: "core:core:weather", name: "weather", description: "" }]),
};
const checker = createChecker({ checkTimeMs: 20_000 });
const host = createHost({ workers: 1, check: { checker } });
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await checker[Symbol.asyncDispose]();
});

test.each([
  "return await tools.weather({ city: 'a' })",
  "const [t] = await tools.search('weather', { limit: 3 }); return await tools.call(t.id, { city: 'a' })",
  "text('a'); json({ n: 1n }); return (await tools.describe(ALL_TOOLS[0].id)).parameters",
  "const found = ALL_TOOLS.find(({ name }) => name.includes('weather')); return found && await tools.call(found.id, { city: 'x' })",
  "await yield_control('later'); return await load_result('r_1', { from: 0, count: 2 })",
  "const name = ['wea', 'ther'].join(''); return await tools[name]({ city: 'a' })",
])("lets %j run", async (source) => {
  const { status, ...rest } = await host.start({ source, tools, catalog, mayYield: true }).result;
  expect([status, rest]).not.toContainEqual(expect.objectContaining({ failure: expect.anything() }));
});

test.each([
  ["return await tools.wether({ city: 'a' })", 'no such tool, closest is "weather"'],
  ["return await tools.weather({})", "city"],
  ["return (await tools.serch('x')).length", 'closest is "search"'],
])("does not run %j [check:before]", async (source, message) => {
  const result = await host.start({ source, tools, catalog }).result;
  expect(result).toMatchObject({ status: "failed", failure: { code: "check_failed" } });
  expect(result.status === "failed" && result.failure.message).toContain(message);
});
