/** The check before a run, as users of a host see it. */
import { createHost, defineTool, type HostCheck, type StandardSchema, type ToolSet } from "codecell";
import { type Checker, createChecker } from "codecell/check";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { GUEST_LIB } from "../../packages/codecell/src/check/guest-lib.ts";
import { sleep } from "./harness.ts";

const made: string[] = [];
const tools: ToolSet = {
  weather: defineTool({
    input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    execute: ({ city }) => (made.push(city), { degrees: 7 }),
  }),
};

const checker = createChecker({ checkTimeMs: 20_000 });
const check: HostCheck = {
  checker,
  // Says more than the schemas do: the output.
  declare: (name) => `${name}(input: { city: string }): Promise<{ degrees: number }>`,
};
const host = createHost({ workers: 1, check });
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await checker[Symbol.asyncDispose]();
});

test("a program that can only fail is not run [check:before]", async () => {
  const source = "await tools.weather({ city: 'never' });\nreturn await tools.wether({ city: 'a' })";
  const run = host.start({ source, tools });
  const result = await run.result;
  expect(result).toMatchObject({
    status: "failed",
    failure: {
      code: "check_failed",
      message:
        'The program has an error and was not run, correct it and send it again: Cannot call tool "wether": no such tool, closest is "weather", expected weather(input: { city: string }): Promise<{ degrees: number }> (line 2, column 20)',
      position: { line: 2, column: 20 },
    },
    stats: { calls: 0 },
  });
  expect(made).not.toContain("never");
  expect((await host.replay(run.ledger()).result).status).toBe("failed");
});

test("a source that is not a program fails as it does without a check", async () => {
  await using plain = createHost({ workers: 1 });
  for (const source of ["const a = ;", "import 'fs'", "return await"]) {
    const [checked, unchecked] = await Promise.all([
      host.start({ source, tools }).result,
      plain.start({ source, tools }).result,
    ]);
    expect(checked).toMatchObject({ status: "failed" });
    expect(checked).toMatchObject(unchecked.status === "failed" ? { failure: unchecked.failure } : {});
  }
});

test("advice comes with a failure, and only then [check:advice]", async () => {
  const wrong = "const w = await tools.weather({ city: 'a' });\nreturn w.degres.toFixed()";
  expect(await host.start({ source: wrong, tools }).result).toMatchObject({
    status: "failed",
    failure: {
      code: "guest_error",
      advice: [
        { code: "type", position: { line: 2, column: 10 }, message: expect.stringContaining("'degrees'") },
      ],
    },
  });
  const odd = "const w: string = await tools.weather({ city: 'a' });\nreturn w";
  const result = await host.start({ source: odd, tools }).result;
  expect(result).toMatchObject({ status: "completed", value: { degrees: 7 } });
  expect(result).not.toHaveProperty("failure");
});

test("the check knows yield_control in a program that may yield", async () => {
  const result = await host.start({ source: "await yield_control('a'); return 1", tools, mayYield: true })
    .result;
  expect(result).toMatchObject({ status: "suspended" });
});

test("a program is checked with the globals that the check declares [check:before]", async () => {
  const globals = "declare const connectors: { github: { callTool(name: string): Promise<unknown> } };";
  await using connected = createHost({ workers: 1, check: { checker, globals } });
  const ended = async (source: string): Promise<unknown> =>
    await connected.start({ source, tools, mayYield: true }).result;
  expect(await ended("await yield_control();\nreturn await connectors.github.callTol('a')")).toMatchObject({
    failure: {
      code: "check_failed",
      message: expect.stringContaining(
        'has no "callTol", closest is "callTool", expected callTool(name: string): Promise<unknown> (line 2, column 32)',
      ),
    },
  });
  // A declaration does not create the global.
  expect(await ended("return await connectors.github.callTool('a')")).toMatchObject({
    failure: { code: "guest_error" },
  });
});

test("a fork is checked when it has a program of its own [check:before]", async () => {
  await using plain = createHost({ workers: 1 });
  const source =
    "const a = await tools.weather({ town: 'b' }).catch(() => 1);\nreturn [a, await tools.wether({})]";
  const run = plain.start({ source, tools });
  expect(await run.result).toMatchObject({ status: "failed", failure: { code: "tool_failed" } });
  const ledger = run.ledger();
  await using checked = createHost({ workers: 1, check: { checker } });
  const forked = (again: string): Promise<unknown> =>
    checked.fork(ledger, { atCall: 0, outcome: { output: 2 }, source: again, tools }).result;
  const wrong = source.replace("wether({})", "wheather({})");
  expect(await forked(wrong)).toMatchObject({
    failure: { code: "check_failed", message: expect.stringContaining('"wheather": no such tool') },
  });
  expect(await forked(source)).toMatchObject({ failure: { code: "tool_failed" } });
  // The fork has a given outcome: it does not matter what the tool would say to this call.
  const right = "const a = await tools.weather({ town: 'b' });\nreturn [a]";
  expect(await forked(right)).toMatchObject({ status: "completed", value: [2] });
});

test("a run that is aborted while it is checked ends at once", async () => {
  const stop = new AbortController();
  const { result } = host.start({ source: "return 1", tools, signal: stop.signal });
  stop.abort();
  expect(await result).toMatchObject({ status: "failed", failure: { code: "aborted" } });
});

test("checking does not count as the run's time", async () => {
  let checkMs = 0;
  const slow: Checker = {
    check: async () => {
      await sleep(checkMs);
      return { status: "unavailable", reason: "too slow" };
    },
    warm: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  const limits = { wallTimeMs: 5000 };
  await using patient = createHost({ workers: 1, check: { checker: slow }, limits });
  // The worker thread is there before time counts: starting it on a busy machine can take seconds.
  await patient.start({ source: "return 0", limits: { wallTimeMs: 60_000 } }).result;
  checkMs = 5200;
  expect(await patient.start({ source: "return 1" }).result).toMatchObject({ status: "completed" });
});

test("declarations are made from schemas if none are given", async () => {
  await using plain = createHost({ workers: 1, check: { checker } });
  const ended = async (source: string, given = tools): Promise<unknown> =>
    (await plain.start({ source, tools: given }).result).status;
  expect(await ended("return (await tools.weather({ city: 'a' })).degrees")).toBe("completed");
  const missing = await plain.start({ source: "return await tools.weather({ town: 'a' })", tools }).result;
  expect(missing).toMatchObject({ failure: { code: "check_failed", position: { line: 1, column: 28 } } });
  const more = "return await tools.weather({ city: 'a', more: 1 })";
  expect(await ended(more)).toBe("completed");
  const properties = { city: { type: "string" } };
  const closed = { type: "object", properties, required: ["city"], additionalProperties: false };
  const strict = { weather: { input: closed, execute: () => 1 } };
  expect(await plain.start({ source: more, tools: strict }).result).toMatchObject({
    failure: { code: "check_failed", message: expect.stringContaining('no argument "more"') },
  });
});

/** The schema, with another description of itself. */
function saying(schema: z.ZodType, json: object): StandardSchema {
  const jsonSchema = { input: () => json, output: () => json };
  return { "~standard": { ...schema["~standard"], jsonSchema } as StandardSchema["~standard"] };
}

test.each<[name: string, input: StandardSchema, source: string]>([
  ["the schema gives another value instead", z.object({ city: z.string() }).catch({ city: "b" }), "{}"],
  [
    "the schema makes the value of nothing",
    z.preprocess(() => ({ city: "b" }), z.object({ city: z.string() })),
    "",
  ],
  ["the schema makes a part of nothing", z.object({ city: z.preprocess(() => "b", z.string()) }), "{}"],
  ["the schema gives another part instead", z.object({ city: z.string().catch("b") }), "{}"],
  [
    "the schema gives another nested part instead",
    z.object({ at: z.object({ x: z.number() }).catch({ x: 1 }) }),
    "{ at: {} }",
  ],
  [
    "the schema gives another part in a list instead",
    z.object({ at: z.array(z.object({ x: z.number().catch(1) })) }),
    "{ at: [{}] }",
  ],
  ["a part has a default", z.object({ city: z.string().default("b") }), "{}"],
  [
    "the schema leaves out what its JSON Schema forbids",
    saying(z.object({ city: z.string() }), {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    }),
    "{ city: 'b', more: 1 }",
  ],
])("an input is not refused when its schema takes it: %s [check:provable]", async (_name, input, given) => {
  await using plain = createHost({ workers: 1, check: { checker } });
  const lenient: ToolSet = { weather: { input, execute: (value) => value } };
  const { result } = plain.start({ source: `return await tools.weather(${given})`, tools: lenient });
  expect(await result).toMatchObject({ status: "completed" });
});

test("an input is refused when its schema refuses it", async () => {
  await using plain = createHost({ workers: 1, check: { checker } });
  const input = z.strictObject({
    city: z.string(),
    at: z.object({ x: z.number(), y: z.number().default(2) }),
  });
  const strict: ToolSet = { weather: { input, execute: (value) => value } };
  const told = async (given: string): Promise<unknown> => {
    const { result } = plain.start({ source: `return await tools.weather(${given})`, tools: strict });
    const ended = await result;
    return ended.status === "failed" ? ended.failure.message : ended.status;
  };
  expect(await told("{ city: 'a' }")).toContain('required argument "at" is missing');
  expect(await told("{ city: 'a', at: {} }")).toContain('required argument "at.x" is missing');
  expect(await told("{ city: 'a', at: { x: 1 }, more: 1 }")).toContain('no argument "more"');
  expect(await told("{ city: 'a', at: { x: 1 } }")).toBe("completed");
});

test("a read-only field is not declared, and may be passed all the same [check:provable]", async () => {
  await using plain = createHost({ workers: 1, check: { checker } });
  const properties = { id: { type: "string", readOnly: true }, city: { type: "string" } };
  const input = { type: "object", properties, required: ["id", "city"], additionalProperties: false };
  const { result } = plain.start({
    source: "return await tools.weather({ id: 'a', city: 'b' })",
    tools: { weather: { input, execute: (value) => value } },
  });
  expect(await result).toMatchObject({ status: "completed" });
});

test("a checker that cannot check stops nothing [check:fails-open]", async () => {
  await using none = createChecker({ typescript: "no-such-compiler" });
  await using open = createHost({ workers: 1, check: { checker: none } });
  const result = await open.start({ source: "return await tools.weather({ city: 'open' })", tools }).result;
  expect(result).toMatchObject({ status: "completed" });
});

test.each<[how: string, check: Checker["check"]]>([
  ["rejects", () => Promise.reject(new Error("broken"))],
  [
    "throws",
    () => {
      throw new Error("broken");
    },
  ],
])("a custom checker that %s stops nothing [check:fails-open]", async (_how, broken) => {
  const others: Checker = { check: broken, warm: async () => {}, [Symbol.asyncDispose]: async () => {} };
  await using open = createHost({ workers: 1, check: { checker: others } });
  expect(await open.start({ source: "return 1", tools }).result).toMatchObject({ value: 1 });
});

test("the check knows exactly the globals that a program has", async () => {
  await using plain = createHost({ workers: 1 });
  const seen = await plain.start({ source: "return Object.getOwnPropertyNames(globalThis)" }).result;
  const names = (seen.status === "completed" ? seen.value : []) as string[];
  expect(names).toContain("structuredClone");
  const read = `return [${names.map((name) => `typeof ${name}`).join(", ")}]`;
  const declarations = { names: () => [], of: () => undefined };
  expect(await checker.check({ source: read, declarations })).toEqual({ status: "passed", advice: [] });
  const declared = [...GUEST_LIB.matchAll(/^declare (?:var|function|class) (\w+)/gmu)].map(
    ([, name]) => name,
  );
  expect(declared.filter((name) => !names.includes(name ?? ""))).toEqual([]);
});
