import { describe, expect, test } from "vitest";
import { toRepair } from "./repair.ts";

interface Repair {
  readonly requiredArgs: string[];
  readonly acceptedArgs: string[];
  readonly missingArgs?: string[];
  readonly unexpectedArgs?: string[];
  readonly minimalArgsTemplate: Record<string, unknown>;
  readonly schemaErrors: { path: string; rule: string }[];
}

function repair(inputSchema: object, input: unknown, problems = ["input: is wrong"]): Repair {
  const tool = { name: "buy", inputSchema: inputSchema as Record<string, unknown> };
  return toRepair(tool, "ConnectorsResult", input, problems) as unknown as Repair;
}

describe("what repairs a call", () => {
  test("has a placeholder for each argument that is needed", () => {
    const properties = {
      a: { type: "string" },
      b: { type: ["integer", "null"] },
      c: { type: "boolean" },
      d: { type: "array" },
      e: { type: "object" },
      f: { enum: ["up", "down"] },
      g: { const: 7 },
      h: { type: "string", default: "usual" },
      i: true,
    };
    const { minimalArgsTemplate } = repair(
      { type: "object", properties, required: Object.keys(properties) },
      {},
    );
    expect(minimalArgsTemplate).toEqual({
      a: "",
      b: 0,
      c: false,
      d: [],
      e: {},
      f: "up",
      g: 7,
      h: "usual",
      i: null,
    });
  });

  test("says nothing of unexpected arguments where none are declared", () => {
    expect(repair({ type: "object" }, { a: 1 })).not.toHaveProperty("unexpectedArgs");
    expect(repair({}, "text")).toMatchObject({ requiredArgs: [], acceptedArgs: [] });
  });

  test("lists each problem with its place", () => {
    const problems = ["input.list[2].id: must be a number", 'input: lacks the property "a; input.b"', "odd"];
    expect(repair({}, {}, problems).schemaErrors).toEqual([
      { path: "list[2].id", rule: "must be a number" },
      { path: "", rule: 'lacks the property "a; input.b"' },
      { path: "", rule: "odd" },
    ]);
  });

  test("is small and made at once, however many arguments a backend and a program name", () => {
    const names = Array.from({ length: 100_000 }, (_, at) => `${"name".repeat(100)}${at}`);
    const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    const input = Object.fromEntries(names.map((name) => [`other${name}`, 1]));
    const startedAt = process.cpuUsage();
    const made = repair({ type: "object", properties, required: names }, input, ["x".repeat(100_000)]);
    const { user, system } = process.cpuUsage(startedAt);
    expect(JSON.stringify(made).length).toBeLessThan(16_384);
    expect(made.missingArgs).toHaveLength(40);
    // Each compared with each other would take minutes.
    expect((user + system) / 1000).toBeLessThan(5000);
  });
});
