/** Section 4.1 of the contract's tests: what an operator writes, and how a run applies it. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import {
  type AgentTools,
  type CodeModeResult,
  createAgentRuntime,
  type PreparedAgentRun,
  resolveCodeMode,
} from "codecell/surface";
import { describe, expect, test, vi } from "vitest";
import { ROOT } from "../sources.ts";
import { CONTEXT, createFixtures, openDesk, POLICY } from "./fixtures.ts";
import { expectResult, expectStatus } from "./result-schema.ts";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";

const JUST_ON = { enabled: true };
const OFF: readonly (readonly [string, { readonly config?: unknown }])[] = [
  ["omitted", {}],
  ["undefined", { config: undefined }],
  ["false", { config: false }],
  ["{ enabled: false }", { config: { enabled: false } }],
];
const NOT_ON: readonly (readonly [string, { readonly config?: unknown }])[] = [
  ["{ timeoutMs: 5000 }", { config: { timeoutMs: 5000 } }],
  ['{ enabled: "yes" }', { config: { enabled: "yes" } }],
  ["{ enabled: 1 }", { config: { enabled: 1 } }],
  ["an enabled that only looks like true", { config: { enabled: Object(true) as unknown } }],
  ["a runtime alone", { config: { runtime: "v8" } }],
];

/** Every tool as it was given, except the denied one. */
function asGiven({ core = {}, plugin = {}, mcp = {}, client = {} }: AgentTools): unknown[] {
  const sets = [core, ...[plugin, mcp, client].flatMap((owners) => Object.values(owners))];
  return sets
    .flatMap((set) => Object.entries(set).map(([name, tool]) => ({ name, tool })))
    .filter(({ name }) => name !== "forbidden");
}

/** What a model gets of a run. */
function payloadOf({ visibleTools }: PreparedAgentRun): unknown[] {
  return visibleTools.map(({ name, tool: { description, input } }) => ({ name, description, input }));
}

describe("code mode that is not on", () => {
  test.each([...OFF, ...NOT_ON])(
    "[exec-wait:1] [exec-wait:2] %s: the model's tools are untouched, and nothing is started",
    async (_, given) => {
      let workers = 0;
      const count = (): void => void workers++;
      process.on("worker", count);
      const compile = vi.spyOn(WebAssembly, "compile");
      const { tools, told } = createFixtures();
      await using runtime = createAgentRuntime();
      const run = runtime.prepareAgentRun({ ...given, tools, policy: POLICY, context: CONTEXT });
      expect(run.isActive).toBe(false);
      expect(run.catalog).toBeUndefined();
      const expected = asGiven(tools);
      expect(run.visibleTools).toEqual(expected);
      // The same objects in the same order: no schema was copied or changed.
      for (const [index, { tool }] of run.visibleTools.entries()) {
        expect(tool).toBe((expected[index] as { tool: unknown }).tool);
      }
      const payload = [{ name: "anything" }];
      expect(run.assertPayload(payload)).toBe(payload);
      for (const result of [await run.exec({ code: "return 1" }), await run.wait({ runId: "x" })]) {
        expect(expectStatus("failed", result).error).toContain("off");
      }
      await run.end();
      await new Promise(setImmediate);
      process.off("worker", count);
      expect({ workers, compiled: compile.mock.calls.length, told }).toEqual({
        workers: 0,
        compiled: 0,
        told: [],
      });
      compile.mockRestore();
    },
  );

  test("[exec-wait:1] the test would have seen a worker", async () => {
    let workers = 0;
    const count = (): void => void workers++;
    process.on("worker", count);
    await using desk = openDesk();
    expectStatus("completed", await desk.exec("return 1"));
    process.off("worker", count);
    expect(workers).toBeGreaterThan(0);
  });
});

test("[exec-wait:3] true has the same visible effects as { enabled: true }", async () => {
  await using desk = openDesk({ config: true });
  const other = desk.prepare({ config: JUST_ON });
  expect(payloadOf(other)).toEqual(payloadOf(desk.run));
  expect(resolveCodeMode(true)).toEqual(resolveCodeMode(JUST_ON));
  const code = "return [ALL_TOOLS, await tools.echo({ a: 1 })]";
  expect(await other.exec({ code })).toEqual(await desk.exec(code));
});

describe("an invalid configuration", () => {
  test.each([
    { runtime: "v8" },
    { mode: "mixed" },
    { runtime: null },
    { mode: "" },
    { languages: ["python"] },
    { languages: "javascript" },
  ])("[exec-wait:4] %o fails closed", async (config) => {
    await using desk = openDesk({ config: { enabled: true, ...config } });
    expect(desk.run.isActive).toBe(true);
    expect(desk.run.visibleTools.map(({ name }) => name)).toEqual(["exec", "wait"]);
    const results: CodeModeResult[] = [
      await desk.exec("return await tools.echo({})"),
      await desk.exec("return 1", "typescript"),
      await desk.exec(""),
      await desk.wait("r"),
    ];
    for (const result of results) expect(expectStatus("failed", result).code).toBe("invalid_config");
    expect(desk.told).toEqual([]);
    expect(() => desk.run.assertPayload([{ name: "echo" }])).toThrow("missing");
  });

  test("[exec-wait:4] shows nothing if it cannot even be read", async () => {
    await using desk = openDesk();
    const hostile = {
      get enabled(): boolean {
        throw new Error("S3CRET");
      },
    };
    const shown = desk.prepare({ config: hostile });
    expect(shown.visibleTools.map(({ name }) => name)).toEqual(["exec", "wait"]);
    const result = expectStatus("failed", await shown.exec({ code: "return 1" }));
    expect(result.code).toBe("invalid_config");
    expect(result.error).not.toContain("S3CRET");
  });
});

describe("languages", () => {
  test.each([
    [["javascript"], "typescript"],
    [["typescript"], undefined],
    [["typescript"], "javascript"],
    [undefined, "python"],
    [undefined, ""],
    [undefined, "JavaScript"],
    [undefined, "constructor"],
  ])("[exec-wait:5] of %j, %j is unsupported", async (languages, language) => {
    await using desk = openDesk({ config: languages === undefined ? true : { enabled: true, languages } });
    const result = expectStatus("failed", await desk.exec("return await tools.echo({})", language));
    expect(result.code).toBe("unsupported_language");
    expect(result.error).toContain((languages ?? ["javascript", "typescript"]).join(" or "));
    expect(desk.told).toEqual([]);
  });

  test("[exec-wait:29] null counts as no language, since models send it", async () => {
    await using desk = openDesk();
    expect(await desk.run.exec({ code: "return 1", language: null })).toMatchObject({ value: 1 });
  });

  test.each([1, {}, ["javascript"], ""])("[exec-wait:5] %j is not a language", async (language) => {
    await using desk = openDesk();
    const result = expectResult(await desk.run.exec({ code: "return 1", language }));
    expect(result).toMatchObject({ status: "failed", code: "unsupported_language" });
  });

  test("[exec-wait:5] programs in enabled languages are executed", async () => {
    await using both = openDesk();
    expect(await both.exec("return 1", "javascript")).toMatchObject({ value: 1 });
    expect(await both.exec("return 1 as number", "typescript")).toMatchObject({ value: 1 });
    const one = both.prepare({ config: { enabled: true, languages: ["typescript"] } });
    expect(await one.exec({ code: "return 2 as number", language: "typescript" })).toMatchObject({
      value: 2,
    });
  });
});

describe("settings", () => {
  /** What the model reads about a run's settings. */
  function toldOf(config: object): string {
    const { tools } = createFixtures();
    const run = createAgentRuntime().prepareAgentRun({
      config: { enabled: true, ...config },
      tools,
      context: CONTEXT,
    });
    return run.visibleTools[0]?.tool.description ?? "";
  }

  const WRONG: readonly unknown[] = [0, -1, 1.5, Number.NaN, "500", null];
  /** Name, values, and what the model reads then; the default is first. */
  const TOLD: readonly (readonly [string, readonly (readonly [readonly unknown[], string])[]])[] = [
    [
      "timeoutMs",
      [
        [[undefined, ...WRONG], "pending after 10 s"],
        [[1, 99, 100], "pending after 0.1 s"],
        [[60_000, 60_001, 1e9], "pending after 60 s"],
      ],
    ],
    [
      "maxOutputBytes",
      [
        [[undefined, ...WRONG], "Beyond 64 KB"],
        [[1, 1023, 1024], "Beyond 1 KB"],
        [[10_485_760, 10_485_761], "Beyond 10240 KB"],
      ],
    ],
    [
      "maxPendingToolCalls",
      [
        [[undefined, ...WRONG], " 16 at a time"],
        [[1], " 1 at a time"],
        [[128, 129], " 128 at a time"],
      ],
    ],
    [
      "maxSearchLimit",
      [
        [[undefined, ...WRONG, 50, 51, 500], "8 by default, at most 50"],
        [[1], "1 by default, at most 1\n"],
        [[5], "5 by default, at most 5\n"],
      ],
    ],
    [
      "searchDefaultLimit",
      [
        [[undefined, ...WRONG], "8 by default, at most 50"],
        [[1], "1 by default, at most 50"],
        [[50, 51, 100], "50 by default, at most 50"],
      ],
    ],
  ];

  test.each(TOLD)("[exec-wait:6] the model reads the resolved value of %s", (name, cases) => {
    for (const [values, words] of cases) {
      for (const value of values) expect(toldOf({ [name]: value }), String(value)).toContain(words);
    }
    expect(toldOf({ searchDefaultLimit: 100, maxSearchLimit: 20 })).toContain("20 by default, at most 20");
  });

  test("[exec-wait:6] searches, calls and output keep to the resolved settings", async () => {
    const names = Array.from({ length: 60 }, (_, index) => `read_${index}`);
    const tools: AgentTools = {
      core: Object.fromEntries(names.map((name) => [name, { description: "Reads", execute: () => name }])),
    };
    await using desk = openDesk({
      tools,
      config: { enabled: true, searchDefaultLimit: 100, maxSearchLimit: 20, maxOutputBytes: 1 },
    });
    const code = `return [(await tools.search("reads")).length, (await tools.search("reads", { limit: 50 })).length]`;
    expect(await desk.exec(code)).toMatchObject({ value: [20, 20] });
    const wide = desk.prepare({ tools, config: { enabled: true, maxSearchLimit: 500 } });
    expect(await wide.exec({ code })).toMatchObject({ value: [8, 50] });
    const cut = expectStatus("completed", await desk.exec(`return "x".repeat(1025)`));
    expect(cut.value).toMatchObject({ truncated: true });
    expect(await desk.exec(`return "x".repeat(1000)`)).toMatchObject({ value: "x".repeat(1000) });
  });
});

test("[exec-wait:7] without the engine every program fails, and no other tool is shown", async () => {
  // A process that may read what the library needs. Of the engine it may only see that the file exists.
  const readable = [
    "packages",
    "test",
    "package.json",
    "node_modules/@babel/",
    "node_modules/codecell",
    "node_modules/zod/",
    "node_modules/quickjs-wasi/package.json",
  ].map((path) => `--allow-fs-read=${ROOT}${path}`);
  const fixture = fileURLToPath(new URL("unreadable-engine.fixture.ts", import.meta.url));
  const flags = [...SOURCE_FLAGS, "--permission", "--allow-worker", ...readable];
  const child = spawn(process.execPath, [...flags, fixture], { timeout: 20_000 });
  const [printed, complaint] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (printed === "") throw new Error(complaint);
  const { visible, results, calls } = JSON.parse(printed) as {
    readonly visible: readonly string[];
    readonly results: readonly CodeModeResult[];
    readonly calls: number;
  };
  expect(visible).toEqual(["exec", "wait"]);
  expect(calls).toBe(0);
  expect(results).toHaveLength(2);
  for (const result of results) expect(expectStatus("failed", result).code).toBe("runtime_unavailable");
});
