/** Schemas made to be expensive: each is printed quickly and within its bound. */
import { expect, test } from "vitest";
import { renderDeclarations, renderSignature } from "./render-declarations.ts";
import { renderType } from "./render-type.ts";
import { startStopwatch } from "../../../../test/processor-time.ts";

type Node = Record<string, unknown>;

function nested(depth: number, wrap: (inside: Node) => Node): Node {
  let schema: Node = { type: "string" };
  for (let level = 0; level < depth; level++) schema = wrap(schema);
  return schema;
}

const cyclic: Node = { type: "object" };
cyclic["properties"] = { self: cyclic, list: { type: "array", items: cyclic } };

const chain: Node = Object.fromEntries(
  Array.from({ length: 50_000 }, (_, index) => [`D${index}`, { $ref: `#/$defs/D${index + 1}` }]),
);
const fan: Node = Object.fromEntries(
  Array.from({ length: 60 }, (_, index) => {
    const next = { $ref: `#/$defs/F${index + 1}` };
    return [`F${index}`, { type: "object", properties: { a: next, b: next, c: { anyOf: [next, next] } } }];
  }),
);

const HOSTILE: Readonly<Record<string, unknown>> = {
  "a hundred thousand levels of objects": nested(100_000, (one) => ({
    type: "object",
    properties: { a: one },
  })),
  "a hundred thousand levels of arrays": nested(100_000, (items) => ({ type: "array", items })),
  "a hundred thousand levels of allOf": nested(100_000, (one) => ({ allOf: [one] })),
  "objects shared at every level": nested(200, (one) => ({ type: "object", properties: { a: one, b: one } })),
  "alternatives shared at every level": nested(90, (one) => ({
    anyOf: [one, one, { type: "array", items: one }],
  })),
  "a cycle in memory": cyclic,
  "a long chain of references": { $ref: "#/$defs/D0", $defs: chain },
  "references that double": { $ref: "#/$defs/F0", $defs: fan },
  "very many fields": {
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: 200_000 }, (_, index) => [`f${index}`, { type: "string" }]),
    ),
  },
  "very many values": { enum: Array.from({ length: 500_000 }, (_, index) => `v${index}`) },
  "a list that is mostly holes": { anyOf: Object.assign([], { length: 2 ** 32 - 1 }) },
  "a constant shared at every level": { const: nested(60, (one) => ({ a: one, b: one })) },
  "a default shared at every level": { type: "object", default: nested(60, (one) => ({ a: one, b: one })) },
  "a very long description": { type: "string", description: "[".repeat(3_000_000) },
  "a description of unfinished markup": {
    type: "string",
    description: "[a](".repeat(500_000) + "**".repeat(500_000),
  },
  "descriptions of full stops before a word": {
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        `f${index}`,
        { type: "string", description: `${".".repeat(19_990)}${index}` },
      ]),
    ),
  },
  "a very long name": { type: "object", properties: { ["x".repeat(1_000_000)]: { type: "string" } } },
  "a very long pointer": { $ref: `#${"/a".repeat(500_000)}` },
};

test.each(Object.entries(HOSTILE))("[declare:any-schema] %s", (_, schema) => {
  const elapsedMs = startStopwatch();
  const tool = { input: schema as Node, output: schema as Node, execute: () => null };
  for (const maxCharacters of [100, 2000, 40_000]) {
    expect(renderType("T", schema as Node, { maxCharacters }).length).toBeLessThanOrEqual(maxCharacters);
  }
  expect(renderDeclarations({ a: tool, b: tool }).length).toBeLessThanOrEqual(200_000);
  const signature = renderSignature("a", tool);
  expect(signature.length).toBeLessThanOrEqual(400);
  expect(signature).not.toContain("\n");
  // Far above the real time; exponential work would never end.
  expect(elapsedMs()).toBeLessThan(5000);
});
