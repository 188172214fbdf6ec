/** A tool that asks for approval suspends the run even if it catches what `suspend` throws, wherever tools can ask. */
import { createHost, defineTool } from "codecell";
import { createMemoryStore } from "codecell/store";
import { createAgentRuntime } from "codecell/surface";
import { describe, expect, test } from "vitest";
import { host } from "./harness.ts";
import { suspensionOf } from "./suspension-of.ts";

/** Pays after a yes. Otherwise it asks, and makes the usual mistake of catching. */
function openDesk() {
  const paid: unknown[] = [];
  const pay = defineTool({
    execute: (input: unknown, { suspend, resolution }) => {
      if (resolution === "yes") return { paid: paid.push(input) };
      try {
        return suspend({ ask: "May I?" });
      } catch {
        return { paid: "anyway" };
      }
    },
  });
  return { paid, tools: { pay } };
}

const SOURCE = "return await tools.pay({ amount: 5 })";

describe("a caught suspension", () => {
  test("suspends the run, which goes on with the answer [suspend:caught]", async () => {
    const { tools, paid } = openDesk();
    const suspension = suspensionOf(await host.start({ source: SOURCE, tools }).result);
    expect(suspension.pending).toMatchObject([{ tool: "pay", payload: { ask: "May I?" } }]);
    expect(paid).toEqual([]);
    const resolutions = { [suspension.pending[0]?.callId ?? ""]: { resolution: "yes" } };
    const result = await host.resume({ token: suspension.token, tools, resolutions }).result;
    expect(result).toMatchObject({ status: "completed", value: { paid: 1 } });
  });

  test("is the same with a store [suspend:caught]", async () => {
    await using stored = createHost({ workers: 1, store: createMemoryStore() });
    const { tools } = openDesk();
    expect(await stored.start({ source: SOURCE, tools }).result).toMatchObject({ status: "suspended" });
  });

  test("keeps a program of an agent waiting, and nothing is recorded as done [suspend:caught]", async () => {
    await using runtime = createAgentRuntime({ host });
    const { tools, paid } = openDesk();
    const context = { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" };
    await using run = runtime.prepareAgentRun({ config: true, tools: { core: tools }, context });
    const updates: unknown[] = [];
    const waiting = await run.exec(
      { code: SOURCE, language: "javascript" },
      { onUpdate: (update) => updates.push(update) },
    );
    if (waiting.status !== "waiting") throw new Error(JSON.stringify(waiting));
    expect(waiting.pendingToolCalls).toMatchObject([{ asks: { ask: "May I?" } }]);
    expect((await run.trajectory()).calls).toMatchObject([{ status: "waiting" }]);
    run.resolve({ [waiting.pendingToolCalls?.[0]?.id ?? ""]: { resolution: "yes" } });
    expect(await run.wait({ runId: waiting.runId })).toMatchObject({
      status: "completed",
      value: { paid: 1 },
    });
    expect([paid.length, updates]).toEqual([1, []]);
  });
});
