import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { DESCRIBED_FORM } from "../../openapi/described-form.ts";
import type { Described } from "../../openapi/description/messages.ts";
import { readEntry, writeEntry } from "./entry.ts";
import { NO_OTHERS, type OtherDocuments } from "./other-documents.ts";

const KEY = "a".repeat(64);
const text = new TextEncoder().encode('{"type":"object"}{"path":"/ü"}');
const described: Described = {
  title: "Shop\nof many lines",
  version: "1",
  hash: "h",
  servers: [
    { url: "https://{host}/v1", variables: { host: { default: "shop.test", values: ["shop.test"] } } },
  ],
  schemes: { key: { type: "apiKey", in: "header", name: "X-Key" }, token: { type: "bearer" } },
  security: [["key"], []],
  operations: [
    {
      name: "get_item",
      title: "Get",
      description: "Gets\u2028an item",
      tags: ["items"],
      isDeprecated: false,
      method: "GET",
      plan: [17, text.length],
      input: { range: [0, 17], parts: [0] },
      output: { range: [0, 17], parts: [] },
      servers: [{ url: "/", variables: {} }],
    },
  ],
  parts: [{ name: "item", range: [0, 17], parts: [0] }],
  problems: ["one is left out"],
  text,
};
const others: OtherDocuments = { links: [{ from: 0, ref: "./other.yaml", to: 1 }], hashes: ["b".repeat(64)] };

describe("an entry of a cache", () => {
  test("is read as it was written", async () => {
    const entry = writeEntry(KEY, described, others);
    expect(await readEntry(KEY, entry, DESCRIBED_FORM)).toEqual({ described, others });
  });

  test("is none under another key, cut anywhere, or with any byte changed", async () => {
    const entry = writeEntry(KEY, described, others);
    expect(await readEntry("b".repeat(64), entry, DESCRIBED_FORM)).toBeUndefined();
    for (let at = 0; at < entry.length; at++) {
      expect(await readEntry(KEY, entry.slice(0, at), DESCRIBED_FORM)).toBeUndefined();
      const changed = entry.slice();
      changed.set([(entry[at] ?? 0) ^ 1], at);
      expect(await readEntry(KEY, changed, DESCRIBED_FORM)).toBeUndefined();
    }
    const longer = Buffer.concat([entry, Buffer.from(" ")]);
    expect(await readEntry(KEY, longer, DESCRIBED_FORM)).toBeUndefined();
  });

  const [operation] = described.operations;
  const far = 1000;

  test.each<readonly [string, Record<string, unknown>]>([
    ["a list that is none", { operations: { length: 1 } }],
    ["a list that is absent", { operations: undefined }],
    ["a list that no description has", { tools: [] }],
    ["a text that is none", { title: 1 }],
    ["a plan beyond the text", { operations: [{ ...operation, plan: [0, far] }] }],
    ["a plan that ends before it begins", { operations: [{ ...operation, plan: [5, 4] }] }],
    ["a plan that is none", { operations: [{ ...operation, plan: ["0", "5"] }] }],
    ["a part that is not there", { operations: [{ ...operation, input: { range: [0, 17], parts: [1] } }] }],
    ["a part that has one that is not there", { parts: [{ name: "item", range: [0, 17], parts: [-1] }] }],
    ["an operation that is none", { operations: [null] }],
    ["an operation without a name", { operations: [{ ...operation, name: "" }] }],
    ["a method that is none", { operations: [{ ...operation, method: "GET\r\nX: 1" }] }],
    ["tags that are none", { operations: [{ ...operation, tags: [1] }] }],
    [
      "an operation's servers that are none",
      { operations: [{ ...operation, servers: ["https://evil.test"] }] },
    ],
    ["a server that is none", { servers: [{ url: 1, variables: {} }] }],
    ["a scheme that is none", { schemes: { key: { type: "apiKey", in: "body", name: "x" } } }],
    ["security that is none", { security: [[1]] }],
    ["a problem that is none", { problems: [{}] }],
  ])("is none with %s, whatever its checksum is", async (_, forged) => {
    const all = { ...described, ...forged } as Described;
    expect(await readEntry(KEY, writeEntry(KEY, all, NO_OTHERS), DESCRIBED_FORM)).toBeUndefined();
  });

  test.each([
    ["an index that is longer than all", "999999999\n{}"],
    ["an index of no length", "\n{}"],
    ["an index that is no number", "many\n{}"],
    ["no index", ""],
    ["an index that does not parse", "2\n{]"],
    ["an index that is no object", "4\nnull"],
    [
      "fewer lines than it says",
      '96\n{"others":{"links":[],"hashes":[]},"plain":{"title":"","version":"","hash":""},"lists":{"a":1}}  ',
    ],
    ["more documents than can be", '30\n{"plain":{},"lists":{"a":-1}} '],
  ])("is none with %s, whatever its checksum is", async (_, body) => {
    const hash = createHash("sha256").update(body).digest("hex");
    const entry = new TextEncoder().encode(`codecell description 1\n${KEY}\n${hash}\n${body}`);
    expect(await readEntry(KEY, entry, DESCRIBED_FORM)).toBeUndefined();
  });
});
