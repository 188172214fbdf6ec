/** Values that belong to no run are judged where the given host's runs live, else in the process's own sandbox. */
import { jsonSchema, tool, type ToolSet } from "ai";
import { createHost, type Host } from "codecell";
import { createExecWaitTools, toAgentTools, toAiTools } from "codecell/ai";
import { withTracing } from "codecell/otel";
import { createAgentRuntime } from "codecell/surface";
import { createInProcessSandbox } from "codecell/testing";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { defaultSandbox } from "../../packages/codecell/src/run/host/default-host.ts";

const context = { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" };
const numbers = { type: "array", items: { type: "integer" } } as const;
/** Too long to be judged on the host's thread. */
const LENGTH = 30_000;
const long = Array.from({ length: LENGTH }, () => 1);

const sandbox = createInProcessSandbox();
const judgedThere = vi.spyOn(sandbox, "judgeFor");
const host = createHost({ sandbox });
const judgedByDefault = vi.spyOn(defaultSandbox(), "judgeFor");
// A pool that is opened later changes nothing: its script could not judge.
const later = createHost({ workers: 1, workerUrl: "data:text/javascript,throw new Error()" });

afterAll(async () => {
  await Promise.all([host, later, sandbox].map((one) => one[Symbol.asyncDispose]()));
});
beforeEach(() => {
  judgedThere.mockClear();
  judgedByDefault.mockClear();
});

const count = tool({
  inputSchema: jsonSchema<number[]>(numbers),
  execute: async (given) => given.length,
}) as ToolSet[string];

/** What the AI SDK hears of an input before it calls the tool. */
async function isValid(tools: ToolSet): Promise<boolean | undefined> {
  const { inputSchema } = tools["count"] as { readonly inputSchema: ReturnType<typeof jsonSchema> };
  return (await inputSchema.validate?.(long))?.success;
}

test.each<[string, Host]>([
  ["host", host],
  ["traced host", withTracing(host)],
])(
  "the %s that was given judges the inputs of tools that the model calls by itself",
  async (_what, given) => {
    await using codeMode = createExecWaitTools({ count }, { config: false, context, host: given });
    expect(await isValid(codeMode.tools)).toBe(true);
    expect(judgedThere).toHaveBeenCalledTimes(1);
    expect(judgedByDefault).not.toHaveBeenCalled();
  },
);

test("so does the host of the runtime that was given", async () => {
  await using runtime = createAgentRuntime({ host });
  const core = toAgentTools({ count });
  await using run = runtime.prepareAgentRun({ config: false, context, tools: { core } });
  expect(await isValid(toAiTools(run.visibleTools, context))).toBe(true);
  expect(judgedThere).toHaveBeenCalledTimes(1);
  expect(judgedByDefault).not.toHaveBeenCalled();
});

test("without a host the process's own sandbox judges", async () => {
  await using codeMode = createExecWaitTools({ count }, { config: false, context });
  expect(await isValid(codeMode.tools)).toBe(true);
  expect(judgedByDefault).toHaveBeenCalledTimes(1);
  expect(judgedThere).not.toHaveBeenCalled();
});

test("inputs that a program gives are judged for its run, also by a schema that is made late", async () => {
  const late = tool({
    inputSchema: jsonSchema<number[]>(async () => numbers),
    execute: async (given) => given.length,
  }) as ToolSet[string];
  // The engine starts in this thread, which may take long on a busy machine.
  const config = { enabled: true, timeoutMs: 60_000 };
  await using codeMode = createExecWaitTools({ late }, { config, context, host });
  const code = `return await tools.late(Array.from({ length: ${LENGTH} }, () => 1))`;
  expect(await codeMode.run.exec({ code })).toMatchObject({ status: "completed", value: LENGTH });
  expect(judgedThere.mock.calls.every(([owner]) => owner !== "")).toBe(true);
  expect(judgedByDefault).not.toHaveBeenCalled();
});
