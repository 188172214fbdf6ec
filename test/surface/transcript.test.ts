/** What a host keeps of an agent run, and what a provider gets of it. */
import type { CodeModeResult, PreparedAgentRun, TrajectoryExport } from "codecell/surface";
import { afterEach, describe, expect, test, vi } from "vitest";
import { CONTEXT, createFixtures, openDesk, openWarmDesk, waitingOf } from "./fixtures.ts";

const SOON = { enabled: true, timeoutMs: 200 };
/** Text that a redacting log would take for secrets. */
const SOURCE = `const API_TOKEN = "sk-live-0123456789abcdef", password = 'pa$$w0rd';
text(API_TOKEN + "\\u2028 é 😀 \\ud800"); // Bearer abc.def
await yield_control();
return { password, "API_TOKEN": [API_TOKEN] }`;

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** The trajectory after a host has written it down and read it again. */
async function stored(run: PreparedAgentRun): Promise<TrajectoryExport> {
  return JSON.parse(JSON.stringify(await run.trajectory())) as TrajectoryExport;
}

describe("a transcript", () => {
  test("[exec-wait:95] has every exec and wait byte for byte as the model wrote it and was answered", async () => {
    await using desk = openDesk();
    const told: [name: string, toolCallId: string, input: string, result: string][] = [];
    const exchange = async (
      name: "exec" | "wait",
      toolCallId: string,
      input: object,
    ): Promise<CodeModeResult> => {
      const result = await desk.run[name](input, { toolCallId });
      told.push([name, toolCallId, JSON.stringify(input), JSON.stringify(result)]);
      return result;
    };
    const { runId } = waitingOf(await exchange("exec", "call_1", { code: SOURCE }));
    await exchange("wait", "call_2", { runId });
    await exchange("wait", "call_3", { runId });
    await exchange("exec", "call_4", { code: "", language: "typescript" });
    const { entries } = await stored(desk.run);
    expect(entries.map(({ name, toolCallId, input, result }) => [name, toolCallId, input, result])).toEqual(
      told,
    );
    expect(entries.map(({ status }) => status)).toEqual(["waiting", "completed", "failed", "failed"]);
    expect(JSON.parse(entries[0]?.input ?? "")).toEqual({ code: SOURCE });
    expect(told[1]?.[3]).toContain("sk-live-0123456789abcdef");
  });

  test("[exec-wait:95] marks a text that a host's redaction changed, since it cannot be replayed", async () => {
    await using desk = openDesk({
      trajectory: {
        redact: (record) =>
          record.type === "entry" && record.input !== undefined
            ? { ...record, input: record.input.replace("sk-live-0123456789abcdef", "***") }
            : record,
      },
    });
    await desk.exec(SOURCE);
    await desk.exec("return 1");
    expect((await stored(desk.run)).entries.map(({ redacted }) => redacted)).toEqual([true, undefined]);
  });

  test("[exec-wait:95] a source reaches the program unchanged, however it looks", async () => {
    await using desk = openDesk();
    const { runId } = waitingOf(await desk.exec(SOURCE));
    expect(await desk.wait(runId)).toMatchObject({
      status: "completed",
      value: { password: "pa$$w0rd", API_TOKEN: ["sk-live-0123456789abcdef"] },
    });
  });
});

describe("nested calls", () => {
  test("[exec-wait:96] have one record each, under their exec, in the order in which they began", async () => {
    await using desk = await openWarmDesk({ config: SOON });
    const first = waitingOf(
      await desk.run.exec(
        {
          code: `
            const late = tools.gate({ n: 1 });
            await tools.echo({ n: 2 });
            await tools.boom({ n: 3 }).catch(() => {});
            await tools.call("core:core:nobody", { n: 4 }).catch(() => {});
            const got = await late;
            await tools.create_issue({ title: got });
            throw new Error("in the end")`,
        },
        { toolCallId: "exec_a" },
      ),
    );
    expect((await desk.run.trajectory()).calls[0]).toMatchObject({
      tool: "core:core:gate",
      status: "running",
    });
    desk.gate.release("late");
    const failed = await desk.run.wait({ runId: first.runId }, { toolCallId: "wait_b" });
    expect(failed).toMatchObject({ status: "failed", code: "internal_error" });
    await desk.run.exec({ code: "await tools.echo({ n: 5 })" }, { toolCallId: "exec_c" });
    const { calls } = await stored(desk.run);
    expect(calls).toMatchObject([
      {
        parentToolCallId: "exec_a",
        tool: "core:core:gate",
        input: { n: 1 },
        status: "completed",
        result: "late",
      },
      { parentToolCallId: "exec_a", tool: "core:core:echo", input: { n: 2 }, result: { got: { n: 2 } } },
      { parentToolCallId: "exec_a", tool: "core:core:boom", input: { n: 3 }, status: "failed" },
      { parentToolCallId: "exec_a", tool: "core:core:nobody", status: "failed" },
      {
        parentToolCallId: "exec_a",
        tool: "mcp:github:create_issue",
        input: { title: "late" },
        result: { number: 1, title: "late" },
      },
      { parentToolCallId: "exec_c", tool: "core:core:echo", input: { n: 5 } },
    ]);
    expect(calls.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(calls[2]?.error).toMatchObject({ message: "nope" });
    expect(JSON.stringify(calls)).not.toContain("S3CRET");
    expect(new Set(calls.map(({ callId }) => callId)).size).toBe(6);
    for (const { startedAt, endedAt } of calls)
      expect(Date.parse(endedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(startedAt));
  });

  test("[exec-wait:97] are in no result: what a provider is sent does not have them", async () => {
    await using desk = openDesk();
    const result = await desk.exec(
      "const { got } = await tools.echo({ NESTED: 1 }); await tools.search('NESTED'); return Object.keys(got).length",
    );
    expect(result).toMatchObject({ status: "completed", value: 1 });
    expect((await desk.run.trajectory()).calls).toHaveLength(1);
    expect(Object.keys(result).toSorted()).toEqual(["status", "telemetry", "value"]);
    const sent = JSON.stringify([
      (await desk.run.trajectory()).entries.map((entry) => entry.result),
      desk.run.visibleTools,
    ]);
    expect(sent).not.toContain("NESTED");
    expect(sent).not.toContain("parentToolCallId");
  });
});

describe("debugging", () => {
  const secret = "S3CRET-IN-A-SCHEMA";
  const named = { name: "exec", input: { description: secret } };

  test("[exec-wait:98] on: the log shows the two visible names, and no secret", async () => {
    vi.stubEnv("CODECELL_DEBUG_CODE_MODE", "1");
    const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    await using desk = openDesk({ context: { ...CONTEXT, sessionKey: secret } });
    await desk.exec(`return ${JSON.stringify(secret)}`);
    desk.run.assertPayload([named, { name: "wait" }, { name: "sneaked_in", description: secret }]);
    const lines = written.mock.calls.map(([line]) => String(line));
    expect(lines).toEqual([
      "code mode: the model sees exec, wait; 11 tools are in the catalog\n",
      "code mode: the request has exec, wait\n",
      'code mode: left out "sneaked_in"\n',
    ]);
    expect(lines.join("")).not.toContain(secret);
  });

  test("[exec-wait:98] off: nothing is written; a host's own listener gets the same lines", async () => {
    const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const lines: string[] = [];
    await using desk = openDesk();
    desk.run.assertPayload([named, { name: "wait" }]);
    expect(written).not.toHaveBeenCalled();
    const heard = desk.prepare({ onDebug: (line) => lines.push(line), tools: createFixtures().tools });
    heard.assertPayload([named, { name: "wait" }]);
    expect(lines).toEqual([
      "code mode: the model sees exec, wait; 11 tools are in the catalog",
      "code mode: the request has exec, wait",
    ]);
  });
});
