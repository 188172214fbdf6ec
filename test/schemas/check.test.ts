/** The check against real and hard schemas: no call is refused whose input the tool's schema accepts. */
import { readFileSync } from "node:fs";
import type { JsonSchema } from "codecell";
import { type CheckResult, createChecker } from "codecell/check";
import { afterAll, expect, test, vi } from "vitest";
import { validatorOf } from "../../packages/codecell/src/calls/schema.ts";
import { declareBySchema } from "../../packages/codecell/src/run/check/declare-by-schema.ts";
import { judgesOf } from "../../packages/codecell/src/sandbox/node/judges.ts";
import { defaultWorkerUrl } from "../../packages/codecell/src/sandbox/node/worker-script.ts";
import { ROOT } from "../sources.ts";
import { CASES } from "./corpus.ts";

vi.setConfig({ testTimeout: 120_000 });

const judgeApart = judgesOf(defaultWorkerUrl()).for("test", new AbortController().signal);

const checker = createChecker({ checkTimeMs: 30_000 });
afterAll(() => checker[Symbol.asyncDispose]());

/** Tools in one program: each check has a price of its own. */
const TOGETHER = 12;

interface Called {
  readonly schema: JsonSchema;
  readonly inputs: readonly unknown[];
}

/** One program that calls each tool with each of its inputs. */
function check(tools: readonly Called[]): Promise<CheckResult> {
  const calls = tools.flatMap(({ inputs }, index) =>
    inputs.map((input) => `await tools.tool${index}(${JSON.stringify(input)});`),
  );
  return checker.check({
    source: calls.join("\n"),
    declarations: {
      names: () => [],
      of: (name) => {
        const tool = tools[Number(name.slice("tool".length))];
        return tool && declareBySchema(name, { input: tool.schema, execute: () => null });
      },
    },
  });
}

async function countRefused(tools: readonly Called[]): Promise<number> {
  const batches = Array.from({ length: Math.ceil(tools.length / TOGETHER) }, (_, index) =>
    tools.slice(index * TOGETHER, (index + 1) * TOGETHER),
  );
  let refused = 0;
  for (const batch of batches) {
    const checked = await check(batch);
    expect("reason" in checked ? checked.reason : undefined).toBeUndefined();
    if (checked.status === "refused") refused += checked.problems.length;
  }
  return refused;
}

test("inputs that a hard schema accepts are never refused [check:provable]", async () => {
  const accepted = CASES.map(({ schema, valid }) => ({ schema, inputs: valid }));
  expect(await countRefused(accepted)).toBe(0);
  const others = CASES.map(({ schema, invalid }) => ({ schema, inputs: invalid }));
  expect(await countRefused(others)).toBeGreaterThan(50);
});

interface RealTool {
  readonly input: Readonly<Record<string, unknown>>;
}

/** Nothing, each property alone, all of them, those that are required, with one more. */
function inputsFor({ input }: RealTool): object[] {
  const properties = Object.keys(input["properties"] ?? {});
  const required = (input["required"] ?? []) as string[];
  const make = (names: readonly string[]): object =>
    Object.fromEntries(names.map((name) => [name, sample(input, name)]));
  const lists = [
    [],
    properties,
    required,
    [...required, "one_more"],
    ...properties.slice(0, 6).map((name) => [name]),
  ];
  return lists.map(make);
}

/** A value that is often right. */
function sample({ properties }: Readonly<Record<string, unknown>>, name: string): unknown {
  const { type, enum: values } = ((properties as Record<string, unknown> | undefined)?.[name] ?? {}) as {
    readonly type?: unknown;
    readonly enum?: readonly unknown[];
  };
  if (values !== undefined) return values[0];
  const samples: Readonly<Record<string, unknown>> = {
    string: "a",
    number: 1,
    integer: 1,
    boolean: true,
    array: [],
    object: {},
  };
  return samples[String(type)] ?? "a";
}

test("inputs that a real tool accepts are never refused [check:provable]", async () => {
  const tools = readFileSync(`${ROOT}test/data/tools/tools.jsonl`, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as RealTool);
  const accepted: Called[] = [];
  const refused: Called[] = [];
  for (const tool of tools) {
    const validate = validatorOf(tool.input, "input");
    const judged = await Promise.all(
      inputsFor(tool).map(async (input) => {
        const { ok } = await validate(input, "input", judgeApart);
        return { input, ok };
      }),
    );
    accepted.push({ schema: tool.input, inputs: judged.filter(({ ok }) => ok).map(({ input }) => input) });
    refused.push({ schema: tool.input, inputs: judged.filter(({ ok }) => !ok).map(({ input }) => input) });
  }
  expect(accepted.flatMap(({ inputs }) => inputs).length).toBeGreaterThan(1000);
  expect(await countRefused(accepted)).toBe(0);
  expect(await countRefused(refused)).toBeGreaterThan(500);
});
