/** Puts the tools of a helpdesk's servers into one catalog, and uses it as an agent would. */
import { deepEqual, equal } from "node:assert/strict";
import type { ToolSet } from "codecell";
import { createMemoryStore, createShapeMemory } from "codecell/store";
import { createCatalog } from "codecell/catalog";

const text = { type: "string" };
const github: ToolSet = {
  "create-issue": {
    description: "Opens an issue in a repository",
    input: {
      type: "object",
      properties: { repository: text, title: text },
      required: ["repository", "title"],
    },
    output: { type: "object", properties: { number: { type: "integer" } }, required: ["number"] },
    execute: () => ({ number: 1 }),
  },
  "delete-repository": { description: "Deletes a repository for good", execute: () => null },
};
const desk: ToolSet = {
  find_customer: {
    description: "Looks up a customer by mail address",
    input: { type: "object", properties: { mail: text }, required: ["mail"] },
    execute: () => ({ id: 7, name: "Ana" }),
  },
  search: { description: "Full-text search over tickets", execute: () => [] },
};

const store = createMemoryStore();
const catalog = createCatalog(
  [
    { kind: "mcp", owner: "github", tools: github },
    { kind: "core", owner: "desk", tools: desk },
  ],
  { policy: { deny: ["mcp:*:delete-*"] }, memory: createShapeMemory({ store }) },
);

console.log("What there is, after the policy:");
for (const { id } of catalog.entries) console.log(`  ${id}`);
deepEqual(
  catalog.entries.map(({ id }) => id),
  ["core:desk:find_customer", "core:desk:search", "mcp:github:create-issue"],
);

console.log("\nWho can report a bug?");
const [found] = await catalog.search("report a bug in a repository");
console.log(`  ${found?.signature}`);
equal(
  found?.signature,
  "tools.create_issue(input:{repository:string,title:string}):Promise<{number:number}>",
);

console.log("\nA tool whose name is taken is called by its id:");
const signature = (await catalog.search("search"))[0]?.signature;
console.log(`  ${signature}`);
equal(signature, 'tools.call("core:desk:search",input?:unknown):Promise<unknown>');

console.log("\nWhat does find_customer give? It does not say, until it was called:");
equal((await catalog.describe("core:desk:find_customer"))?.observedOutput, undefined);
await catalog.observe("core:desk:find_customer", { id: 7, name: "Ana" });
await catalog.observe("core:desk:find_customer", { id: 8, name: "Ben", phone: "555" });
const described = await catalog.describe("core:desk:find_customer");
console.log(`  ${described?.observedOutput?.typeScript}`);
equal(described?.observedOutput?.typeScript, "{ id: number; name: string; phone?: string; }");

const smaller = catalog.withoutSource("mcp", "github");
equal(smaller.entries.length, 2);
equal(smaller.withSource({ kind: "mcp", owner: "github", tools: github }).hash, catalog.hash);
await store[Symbol.asyncDispose]();
console.log("\nAll as expected.");
