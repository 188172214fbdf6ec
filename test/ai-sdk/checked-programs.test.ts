/** A host's checker and tools of the AI SDK: it knows their schemas, as it knows those of other tools. */
import { jsonSchema, tool, type ToolSet } from "ai";
import { createHost } from "codecell";
import { createCodeModeTool, createExecWaitTools, runCodeMode } from "codecell/ai";
import { createChecker } from "codecell/check";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { z } from "zod";

const checker = createChecker({ checkTimeMs: 60_000 });
const host = createHost({ workers: 1, check: { checker } });
const executed: unknown[] = [];
const execute = async (input: unknown): Promise<string> => {
  executed.push(input);
  return "done";
};
const CITY = {
  type: "object" as const,
  properties: { city: { type: "string" as const } },
  required: ["city"],
};

afterEach(() => {
  executed.length = 0;
});
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await checker[Symbol.asyncDispose]();
});

/** A tool whose `inputSchema` may be anything that the AI SDK takes. */
function weatherWith(inputSchema: unknown): ToolSet {
  return { other: tool({ inputSchema: z.object({}), execute }), weather: { inputSchema, execute } as never };
}

async function failureOf(js: string, tools: ToolSet): Promise<unknown> {
  return runCodeMode({ js, tools, options: { host } }).catch((error: unknown) => error);
}

const { "~standard": standard } = z.object({ city: z.string() });

const schemas: readonly [string, unknown][] = [
  ["of zod", z.object({ city: z.string() })],
  ["of zod that transforms", z.object({ city: z.string().transform((city) => city.length) })],
  ["of another library", { "~standard": { ...standard, vendor: "other" } }],
  ["that is a JSON Schema", jsonSchema(CITY)],
  ["that is a JSON Schema made when it is needed", jsonSchema(() => CITY)],
  ["that is a JSON Schema made late", jsonSchema(async () => CITY)],
  ["that is a function", () => jsonSchema(CITY)],
];

describe.each(schemas)("a tool with a schema %s", (_, inputSchema) => {
  test("is not called with a wrong input: the program does not start [check:before]", async () => {
    const js = "await tools.other({});\nreturn await tools.weather({ town: 'Oslo' })";
    const error = await failureOf(js, weatherWith(inputSchema));
    expect(error).toMatchObject({
      name: "CodeModeError",
      message: expect.stringContaining('"weather": required argument "city" is missing') as unknown,
      details: { failure: "check_failed", position: { line: 2 } },
    });
    expect(executed).toEqual([]);
  });

  test("is called with a right one [check:provable]", async () => {
    const js = "return await tools.weather({ city: 'Oslo' })";
    expect(await failureOf(js, weatherWith(inputSchema))).toBe("done");
  });
});

// The AI SDK says of every object that it takes no other properties; most schemas leave out what they do not know.
test.each<[string, unknown, string]>([
  ["properties that the schema leaves out", z.object({ city: z.string() }), "{ city: 'a', more: 1 }"],
  ["no property that is required", z.object({ city: z.string().optional() }), "{ more: 1 }"],
  ["no input", z.object({ city: z.string().optional() }), ""],
  ["a value that the schema gives instead", z.object({ city: z.string().catch("b") }), "{}"],
  [
    "what a validator of its own takes",
    jsonSchema(CITY, { validate: (value) => ({ success: true, value }) as never }),
    "{}",
  ],
  ["no schema", undefined, "{}"],
])("a call with %s is not refused [check:provable]", async (_, inputSchema, given) => {
  const tools = weatherWith(inputSchema);
  expect(await failureOf(`return await tools.weather(${given})`, tools)).toBe("done");
});

test.each<[string, unknown]>([
  ["of zod", z.strictObject({ city: z.string() })],
  ["that is a JSON Schema", jsonSchema({ ...CITY, additionalProperties: false })],
])("an unknown property is refused where the schema refuses it: a schema %s", async (_, inputSchema) => {
  const js = "return await tools.weather({ city: 'a', more: 1 })";
  expect(await failureOf(js, weatherWith(inputSchema))).toMatchObject({
    message: expect.stringContaining('it has no argument "more"') as unknown,
    details: { failure: "check_failed" },
  });
  expect(executed).toEqual([]);
});

test("only the schemas of tools that a program names are read, and once [check:lazy]", async () => {
  const read: string[] = [];
  const made = (name: string) =>
    jsonSchema(() => {
      read.push(name);
      return CITY;
    });
  const tools = {
    weather: tool({ inputSchema: made("weather"), execute }),
    other: tool({ inputSchema: made("other"), execute }),
  } as ToolSet;
  const js = "return [await tools.weather({ city: 'a' }), await tools.weather({ city: 'b' })].length";
  expect(await failureOf(js, tools)).toBe(2);
  expect(await failureOf(js, tools)).toBe(2);
  expect(read).toEqual(["weather"]);
});

test("without a checker no schema is read before its tool is called", async () => {
  const read: string[] = [];
  const inputSchema = jsonSchema(() => {
    read.push("weather");
    return CITY;
  });
  const tools = { weather: tool({ inputSchema, execute }) } as ToolSet;
  expect(await runCodeMode({ js: "return typeof tools.weather", tools })).toBe("function");
  expect(read).toEqual([]);
});

test("a schema that throws stops no program before it calls the tool [check:fails-open]", async () => {
  const fail = (): never => {
    throw new Error("pg://user:pw@db down");
  };
  const js = "await tools.other({}); return await tools.weather({})";
  for (const inputSchema of [fail, jsonSchema(fail), jsonSchema(async () => fail())]) {
    const error = await failureOf(js, weatherWith(inputSchema));
    expect(error).toMatchObject({ code: "CODE_MODE_HOST_TOOL_ERROR" });
    expect(executed.splice(0)).toEqual([{}]);
  }
});

test("the tool that a model is given refuses such a program too", async () => {
  const tools = weatherWith(z.object({ city: z.string() }));
  const codeMode = createCodeModeTool(tools, { host });
  await expect(
    codeMode.execute({ js: "return await tools.weather({})" }, { toolCallId: "1", messages: [] }),
  ).rejects.toThrow('required argument "city" is missing');
});

test("so do exec and wait, and no program that works [check:before] [check:provable]", async () => {
  const tools = {
    weather: tool({ inputSchema: z.object({ city: z.string() }), execute }),
    list: tool({ inputSchema: z.object({ city: z.string().optional() }), execute }),
  };
  const context = { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" };
  await using codeMode = createExecWaitTools(tools, { host, context });
  expect(await codeMode.run.exec({ code: "return await tools.weather({ town: 'a' })" })).toMatchObject({
    status: "failed",
    error: expect.stringContaining('required argument "city" is missing') as unknown,
  });
  expect(executed).toEqual([]);
  const code = "return [await tools.weather({ city: 'a', more: 1 }), await tools.list({ more: 1 })].length";
  expect(await codeMode.run.exec({ code })).toMatchObject({ status: "completed", value: 2 });
});
