import { expect, test } from "vitest";
import { FETCH_TOOL } from "../contract/features.ts";
import { isRepeatable } from "./recovery.ts";

test("a recorded fetch can be made again when it changes nothing", () => {
  const inputs = [
    '{"method":"GET"}',
    '{"method":"head"}',
    '{"method":"POST"}',
    '{"method":7}',
    "{}",
    "null",
    "{",
  ];
  const repeated = inputs.map((input) => isRepeatable({}, { tool: FETCH_TOOL, input }));
  expect(repeated).toEqual([true, true, false, false, false, false, false]);
});

test("a tool with the name of a fetch speaks for itself", () => {
  const call = { tool: FETCH_TOOL, input: '{"method":"GET"}' };
  expect(isRepeatable({ [FETCH_TOOL]: { execute: () => 1 } }, call)).toBe(false);
  expect(isRepeatable({ [FETCH_TOOL]: { idempotent: true, execute: () => 1 } }, call)).toBe(true);
});

test("a call that no tool serves is not made again", () => {
  const names = ["gone", "yield_control", "catalog.search"];
  expect(names.map((tool) => isRepeatable({}, { tool, input: "{}" }))).toEqual([false, false, false]);
});
