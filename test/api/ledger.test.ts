import { createHost, type Ledger, type ToolSet } from "codecell";
import { describe, expect, test } from "vitest";
import { host, sleep } from "./harness.ts";

const source = `
  const ids = await tools.list({});
  console.log("ids", ids);
  const rows = await Promise.all(ids.map((id) => tools.get({ id })));
  await new Promise((resolve) => setTimeout(resolve, 5));
  const missing = await tools.get({ id: 99 }).catch((e) => e.message);
  return { rows, missing, at: Date.now(), uuid: crypto.randomUUID(), dice: Math.random() };`;

function shop(): { readonly tools: ToolSet; readonly executed: () => number } {
  let executed = 0;
  const tools: ToolSet = {
    list: { execute: () => [3, 1, 2] },
    get: {
      execute: async ({ id }: { id: number }) => {
        executed++;
        // The first call ends last, so outcomes arrive in another order than the calls.
        await sleep(id * 4);
        if (id === 99) throw new Error("No such row");
        return { id, name: `row ${id}` };
      },
    },
  };
  return { tools, executed: () => executed };
}

async function record(): Promise<{ readonly ledger: Ledger; readonly value: unknown }> {
  const run = host.start({ source, tools: shop().tools });
  const result = await run.result;
  if (result.status !== "completed") throw new Error(JSON.stringify(result));
  return { ledger: run.ledger(), value: result.value };
}

describe("ledger", () => {
  test("it replays to the same result without any tool, also on another host [ledger:replay]", async () => {
    const { ledger, value } = await record();
    await using other = createHost({ workers: 1 });
    const copy = JSON.parse(JSON.stringify(ledger)) as Ledger;
    const result = await other.replay(copy).result;
    expect(result).toMatchObject({
      status: "completed",
      value,
      runId: ledger.runId,
      logs: [{ level: "log", text: "ids [ 3, 1, 2 ]" }],
    });
  });

  test("it holds every call and every delivery [ledger:replay]", async () => {
    const { ledger } = await record();
    expect(ledger.calls.map(({ tool, input }) => `${tool} ${input}`)).toEqual([
      "list {}",
      'get {"id":3}',
      'get {"id":1}',
      'get {"id":2}',
      'get {"id":99}',
    ]);
    const kinds = ledger.deliveries.flatMap(({ items }) => items.map(({ kind }) => kind));
    expect(kinds.toSorted()).toEqual(["failure", "output", "output", "output", "output", "timer"]);
  });

  test("a failed run replays to the same failure [ledger:replay]", async () => {
    const run = host.start({ source: "await tools.list({}); throw new Error('no')", tools: shop().tools });
    const failed = await run.result;
    const replayed = await host.replay(run.ledger()).result;
    expect(replayed).toMatchObject({ status: "failed", failure: "failure" in failed ? failed.failure : {} });
  });

  test("a run that was stopped before its first call was seen replays to the same failure [ledger:replay]", async () => {
    const { ledger } = await record();
    const stopped = { code: "timeout", message: "The run took longer than 10 ms" } as const;
    const result = await host.replay({ ...ledger, calls: [], deliveries: [], stopped }).result;
    expect(result).toMatchObject({ status: "failed", failure: stopped });
  });

  test.each([
    [
      "another input",
      (ledger: Ledger) => ledger.calls.map((call, i) => (i === 1 ? { ...call, input: "{}" } : call)),
    ],
    [
      "another tool",
      (ledger: Ledger) => ledger.calls.map((call, i) => (i === 2 ? { ...call, tool: "put" } : call)),
    ],
    ["a call less", (ledger: Ledger) => ledger.calls.slice(0, -1)],
  ])("%s is a divergence [ledger:divergence]", async (_name, alter) => {
    const { ledger } = await record();
    const result = await host.replay({ ...ledger, calls: alter(ledger) }).result;
    expect(result).toMatchObject({ status: "failed", failure: { code: "replay_diverged" } });
  });

  test("another program is a divergence [ledger:divergence]", async () => {
    const { ledger } = await record();
    const other = { ...ledger, source: "return await tools.get({ id: 1 })" };
    expect(await host.replay(other).result).toMatchObject({ failure: { code: "replay_diverged" } });
  });
});
