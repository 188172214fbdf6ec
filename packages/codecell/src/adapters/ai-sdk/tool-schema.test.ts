import { jsonSchema, tool, type Tool } from "ai";
import { expect, test } from "vitest";
import { validatorOf } from "../../calls/schema.ts";
import { inputOf } from "./tool-schema.ts";

async function problems(find: () => Tool | undefined, value: unknown): Promise<string> {
  const checked = await validatorOf(inputOf(find), "input")(value, "input", () => {
    throw new Error("Not judged here");
  });
  return checked.ok ? "" : (checked.words ?? checked.problems);
}

test("a schema that gives one list of issues for all values gives no caller the words of another", async () => {
  const issues = [{ message: "bad" }];
  const schema = { "~standard": { version: 1, vendor: "own", validate: async () => ({ issues }) } };
  const given = { inputSchema: schema, execute: () => 1 } as unknown as Tool;
  const [mine, other] = await Promise.all([problems(() => given, "mine"), problems(() => given, "other")]);
  expect(mine).toContain("mine");
  expect(mine).not.toContain("other");
  expect(other).toContain("other");
});

test("a function may give a promise of a schema", async () => {
  const inputSchema = async () => jsonSchema({ type: "string" });
  const given = { inputSchema, execute: () => 1 } as unknown as Tool;
  expect(await problems(() => given, "a")).toBe("");
  expect(await problems(() => given, 1)).not.toBe("");
});

test("a tool that was exchanged validates by its new schema", async () => {
  let present: Tool = tool({ inputSchema: jsonSchema({ type: "string" }), execute: () => 1 });
  const find = (): Tool => present;
  expect(await problems(find, 1)).not.toBe("");
  present = tool({ inputSchema: jsonSchema({ type: "number" }), execute: () => 1 });
  expect(await problems(find, 1)).toBe("");
});
