/** The contract's plan of 14 steps, on an agent loop that is not ours, with a model that follows a script. */
import { type ModelMessage, tool, ToolLoopAgent, wrapLanguageModel, jsonSchema } from "ai";
import type { MockLanguageModelV4 } from "ai/test";
import type { CodeModeResult, PreparedAgentRun } from "codecell/surface";
import { createAgentRuntime } from "codecell/surface";
import { describe, expect, test } from "vitest";
import { checkingPayload, toAiTools } from "codecell/ai";
import { type Move, type Script, scriptedModel } from "../../examples/agent/scripted-model.ts";
import { CONTEXT, createFixtures, IDS, openWarmDesk, POLICY, until } from "./fixtures.ts";

interface Chat {
  readonly agent: ToolLoopAgent;
  readonly model: MockLanguageModelV4;
  readonly messages: ModelMessage[];
  readonly say: (content: string, abortSignal?: AbortSignal) => Promise<string>;
}

/** A loop as a product has it, to which something adds a tool at the last moment. */
function openChat(run: PreparedAgentRun, script: Script): Chat {
  const model = scriptedModel(script);
  const sneaked = tool({ description: "S3CRET", inputSchema: jsonSchema({}), execute: () => "sneaked" });
  const agent = new ToolLoopAgent({
    model: wrapLanguageModel({ model, middleware: checkingPayload(run) }),
    tools: { ...toAiTools(run.visibleTools, CONTEXT), ...(run.isActive ? { sneaked } : {}) },
  });
  const messages: ModelMessage[] = [];
  return {
    agent,
    model,
    messages,
    say: async (content, abortSignal) => {
      messages.push({ role: "user", content });
      const { text, responseMessages } = await agent.generate({
        messages,
        ...(abortSignal === undefined ? {} : { abortSignal }),
      });
      messages.push(...responseMessages);
      return text;
    },
  };
}

const exec = (code: string) => (): Move => ({ call: "exec", input: { code } });
const waitForIt = (last: CodeModeResult): Move => ({
  call: "wait",
  input: { runId: last.status === "waiting" ? last.runId : "" },
});
const report = (last: CodeModeResult): Move => ({ say: JSON.stringify(last) });

/** The last result that the model got. */
function told(text: string): CodeModeResult {
  return JSON.parse(text) as CodeModeResult;
}

function namesSent({ doGenerateCalls }: MockLanguageModelV4): string[][] {
  return doGenerateCalls.map(({ tools = [] }) => tools.map(({ name }) => name));
}

/** The calls and results that the loop keeps, as texts. */
function toTranscript(messages: readonly ModelMessage[]): {
  readonly inputs: string[];
  readonly results: string[];
} {
  const [inputs, results]: [string[], string[]] = [[], []];
  for (const { content } of messages) {
    for (const part of typeof content === "string" ? [] : content) {
      if (part.type === "tool-call") inputs.push(JSON.stringify(part.input));
      if (part.type === "tool-result" && part.output.type === "json")
        results.push(JSON.stringify(part.output.value));
    }
  }
  return { inputs, results };
}

describe("an agent loop", () => {
  test("[exec-wait:99] 1 to 3: off, the model has its tools as they are and calls them directly", async () => {
    const { echo, read } = createFixtures().tools.core ?? {};
    if (echo === undefined || read === undefined) throw new Error("There are no fixtures");
    await using runtime = createAgentRuntime();
    const run = runtime.prepareAgentRun({
      config: { enabled: false },
      tools: { core: { echo, read } },
      context: CONTEXT,
    });
    const { say, model } = openChat(run, [
      () => ({ call: "read", input: { path: "a.txt" } }),
      () => ({ say: "read" }),
    ]);
    expect(await say("Read it")).toBe("read");
    expect(namesSent(model)).toEqual([
      ["echo", "read"],
      ["echo", "read"],
    ]);
    const [, sent] = model.doGenerateCalls[0]?.tools ?? [];
    expect(sent).toMatchObject({ description: read.description, inputSchema: read.input });
    expect(JSON.stringify(model.doGenerateCalls[1]?.prompt)).toContain("contents of a.txt");
  });

  test("[exec-wait:99] 4 to 14: on, from the first look at the catalog to the trajectory", async () => {
    // With one live run at most, any rest of a program would block the next program.
    await using desk = await openWarmDesk({
      config: { enabled: true, timeoutMs: 60_000 },
      hosting: { liveRuns: 1 },
    });
    const { say, model, messages } = openChat(desk.run, [
      exec("return ALL_TOOLS.map((tool) => tool.id)"),
      report,
      exec(`
        const [hit] = await tools.search("create an issue in a repository", { limit: 1 });
        const { id, parameters } = await tools.describe(hit.id);
        return { id, required: parameters.required, issue: await tools.call(id, { title: "found" }) }`),
      report,
      exec(`
        const found = await tools.search("must not be called forbidden", { limit: 50 });
        const tried = [];
        for (const id of ["core:core:forbidden", "forbidden"]) tried.push(await tools.call(id).catch((e) => e.message));
        return { listed: [...ALL_TOOLS, ...found].some(({ name }) => name === "forbidden"), tried, direct: typeof tools.forbidden }`),
      report,
      exec(
        "const kept = { n: 41 }; text('before'); const p = tools.gate({ why: 'slow' }); await yield_control(); const r = await p; kept.n++; text('after ' + r); return kept.n",
      ),
      report,
      waitForIt,
      (last) => ({
        say: last.output?.map((item) => (item.type === "text" ? item.text : "")).join() ?? "nothing",
      }),
    ]);

    // Step 7
    const listed = told(await say("What is there?"));
    expect(listed).toMatchObject({ status: "completed", value: IDS });
    // Step 8
    expect(told(await say("Create an issue"))).toMatchObject({
      status: "completed",
      value: { id: "mcp:github:create_issue", required: ["title"], issue: { number: 1, title: "found" } },
    });
    // Step 9
    const refused = told(await say("Do what you must not"));
    expect(refused).toMatchObject({
      status: "completed",
      value: {
        listed: false,
        tried: [expect.stringContaining("no such tool"), expect.stringContaining("no such tool")] as string[],
        direct: "undefined",
      },
    });
    expect(desk.forbidden.calls).toBe(0);
    // Step 10: the turn ends while the program waits.
    expect(told(await say("Take your time"))).toMatchObject({
      status: "waiting",
      reason: "pending_tools",
      pendingToolCalls: [{ tool: "core:core:gate", input: '{"why":"slow"}' }],
      output: [{ type: "text", text: "before" }],
    });
    expect(desk.runtime.suspendedPrograms).toBe(1);
    desk.gate.release("the answer");
    // Steps 11 and 12: another turn.
    expect(await say("And now?")).toBe("after the answer");
    expect(desk.runtime.suspendedPrograms).toBe(0);

    // Step 6, for every request: the added tool is not in it.
    expect(new Set(namesSent(model).map(String))).toEqual(new Set(["exec,wait"]));
    expect(JSON.stringify(model.doGenerateCalls.map(({ tools }) => tools))).not.toContain("S3CRET");

    // Step 14: the trajectory has exactly what the transcript replays.
    const { calls, entries } = await desk.run.trajectory();
    expect(calls.map((call) => [call.parentToolCallId, call.tool, call.status])).toEqual([
      ["call_3", "mcp:github:create_issue", "completed"],
      ["call_5", "core:core:forbidden", "failed"],
      ["call_5", "forbidden", "failed"],
      ["call_7", "core:core:gate", "completed"],
    ]);
    const transcript = toTranscript(messages);
    expect(transcript.inputs).toEqual(entries.map(({ input }) => input));
    expect(transcript.results).toEqual(entries.map(({ result }) => result));
    // The provider sees only exec and wait.
    expect(transcript.inputs).toHaveLength(5);
    const last = model.doGenerateCalls.at(-1)?.prompt ?? [];
    const results = last.flatMap(({ role, content }) => (role === "tool" ? content : []));
    expect(results).toHaveLength(5);
  });

  test("[exec-wait:99] 13: timeout, abort and expiry clean up", async () => {
    await using desk = await openWarmDesk({
      config: { enabled: true, timeoutMs: 400, snapshotTtlSeconds: 1 },
      hosting: { liveRuns: 1 },
    });
    const gated = exec("return await tools.gate({})");
    const { say } = openChat(desk.run, [
      exec("await yield_control(); while (true) {}"),
      waitForIt,
      report,
      gated,
      report,
      waitForIt,
      report,
      exec("return 'works'"),
      report,
    ]);
    expect(told(await say("Loop"))).toMatchObject({ status: "failed", code: "timeout" });
    expect(desk.runtime.suspendedPrograms).toBe(0);

    expect(told(await say("Wait in vain"))).toMatchObject({ status: "waiting" });
    await until(() => desk.gate.signals[0]?.aborted ?? false);
    expect(desk.runtime.suspendedPrograms).toBe(0);
    expect(told(await say("Too late"))).toMatchObject({ status: "failed", code: "snapshot_expired" });

    const controller = new AbortController();
    const context = { ...CONTEXT, runId: "r2", abortSignal: controller.signal };
    const aborted = desk.prepare({ config: { enabled: true, timeoutMs: 400 }, context, policy: POLICY });
    const other = openChat(aborted, [gated, report, waitForIt, report]);
    expect(told(await other.say("Wait"))).toMatchObject({ status: "waiting" });
    controller.abort();
    expect(desk.runtime.suspendedPrograms).toBe(0);
    expect(told(await other.say("And?"))).toMatchObject({ status: "failed", code: "aborted" });

    expect(desk.gate.signals.map((signal) => signal.aborted)).toEqual([true, true]);
    expect(told(await say("Do you still work?"))).toMatchObject({ status: "completed", value: "works" });
    expect(desk.run.telemetry().snapshots).toEqual({ created: 2, restored: 1, expired: 1, dropped: 0 });
    const left = await Promise.all([desk.run, aborted].map((run) => run.trajectory()));
    expect(left.flatMap(({ calls }) => calls).map(({ status }) => status)).toEqual(["aborted", "aborted"]);
  });

  test("aborting the agent aborts the program", async () => {
    await using desk = await openWarmDesk();
    const { say } = openChat(desk.run, [exec("return await tools.gate({})"), report]);
    const controller = new AbortController();
    const said = say("Wait", controller.signal);
    await until(() => desk.gate.open === 1);
    controller.abort();
    await expect(said).rejects.toThrow(/abort/u);
    await until(() => desk.gate.signals[0]?.aborted ?? false);
    await until(async () => (await desk.run.trajectory()).entries[0]?.status === "failed");
    expect(desk.runtime.suspendedPrograms).toBe(0);
  });
});
