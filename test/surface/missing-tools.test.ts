/** A wait in a preparation that lacks a tool for which the program's calls wait. */
import { createMemoryStore } from "codecell/store";
import { expect, test } from "vitest";
import { CONTEXT, openDesk, openWarmDesk, waitingOf } from "./fixtures.ts";

const SOON = { enabled: true, timeoutMs: 200 };
const MISSING = { status: "failed", code: "runtime_unavailable" };

test("a wait without the tool leaves the program as it is, for a wait with it [suspend:tools]", async () => {
  await using desk = await openWarmDesk({ config: SOON });
  const { runId } = waitingOf(await desk.exec("return await tools.gate({})"));
  const without = desk.prepare({ tools: { core: { echo: { execute: () => 1 } } } });
  for (let times = 0; times < 2; times++) {
    const refused = await without.wait({ runId });
    expect(refused).toMatchObject(MISSING);
    expect(refused).toHaveProperty("error", expect.stringContaining('tool "gate"'));
    expect(desk.gate.signals[0]?.aborted).toBe(false);
  }
  desk.gate.release("let through");
  expect(await desk.wait(runId)).toMatchObject({ status: "completed", value: "let through" });
});

test("a decision for the call is kept [suspend:tools]", async () => {
  await using desk = openDesk({
    approve: ({ resolution }) => (resolution === undefined ? { suspend: "may I?" } : "allow"),
  });
  const first = waitingOf(await desk.exec("return await tools.call('core:core:needs_ok')"));
  const without = desk.prepare({ tools: { core: { echo: { execute: () => 1 } } } });
  desk.run.resolve({ [first.pendingToolCalls?.[0]?.id ?? ""]: { resolution: "yes" } });
  const refused = await without.wait({ runId: first.runId });
  expect(refused).toMatchObject(MISSING);
  expect(refused).toHaveProperty("error", expect.stringContaining('tool "core:core:needs_ok"'));
  expect(await desk.wait(first.runId)).toMatchObject({ status: "completed", value: 0 });
});

test("a program that another process began stays in its store until a process has the tools [suspend:tools]", async () => {
  const store = createMemoryStore();
  const approve: NonNullable<Parameters<typeof openDesk>[0]>["approve"] = ({ resolution }) =>
    resolution === undefined ? { suspend: "may I?" } : "allow";
  await using desk = openDesk({ hosting: { store }, approve });
  const { runId } = waitingOf(await desk.exec("return await tools.needs_ok({})"));
  await using other = openDesk({ hosting: { store }, tools: { core: { echo: { execute: () => 1 } } } });
  expect(await other.wait(runId)).toMatchObject(MISSING);
  expect(await store.list({ claimable: true })).toMatchObject([{ id: runId }]);
  await using third = openDesk({ hosting: { store }, approve, context: CONTEXT });
  expect(waitingOf(await third.wait(runId)).pendingToolCalls).toMatchObject([{ tool: "core:core:needs_ok" }]);
});
