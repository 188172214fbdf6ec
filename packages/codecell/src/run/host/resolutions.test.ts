import { expect, test } from "vitest";
import { assertResolutions } from "./resolutions.ts";

/** As large as values that are looked through and not printed. */
const many = (last: unknown): unknown[] => [...Array.from({ length: 30_000 }, (_, n) => ({ n })), last];

test.each<[string, (value: unknown) => unknown]>([
  ["small", (value) => [value]],
  ["large", many],
])("a %s resolution is JSON without a key __proto__", (_, toResolution) => {
  const assert = (value: unknown) => (): void =>
    assertResolutions({ "r:0": { resolution: toResolution(value) } });
  expect(assert({ approved: true, note: "__proto__ \u0001" })).not.toThrow();
  expect(assert(JSON.parse('{"a":[{"__proto__":1}]}'))).toThrow('has a key "__proto__"');
  expect(assert(1n)).toThrow("neither a resolution that is JSON nor a text in deny");
  // Values of the host's own become JSON when they are printed.
  expect(assert({ at: new Date(0) })).not.toThrow();
  expect(assert({ toJSON: () => JSON.parse('{"__proto__":1}') as unknown })).toThrow('has a key "__proto__"');
});
