import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { beginTurn, isTurnLong } from "../loop/turn.ts";
import { resolveLimits } from "../contract/limits.ts";
import { CallRunner } from "./call-runner.ts";
import { type AdapterMiddleware, BEFORE_END } from "./middleware.ts";
import { Deadline } from "../run/deadline.ts";
import { RunErrors } from "../run/run-errors.ts";

function createRunner(
  execute: (input: { path: string }) => null,
  deadline: Deadline,
  middleware: readonly AdapterMiddleware[] = [],
): CallRunner {
  return new CallRunner({
    runId: "r",
    features: {},
    tools: { remove: { execute } },
    limits: resolveLimits(),
    context: undefined,
    middleware,
    authorize: undefined,
    mapCallFailure: undefined,
    hostTools: {},
    signal: new AbortController().signal,
    judgeApart: () => Promise.resolve({ kind: "unknown" }),
    deadline,
    emit: () => {},
    tellStep: undefined,
    errors: new RunErrors("r", undefined),
  });
}

test("calls begin in the order in which they were made, also if one has to wait for its turn", async () => {
  const begun: string[] = [];
  using deadline = new Deadline(60_000, () => {});
  const runner = createRunner(({ path }) => {
    begun.push(path);
    return null;
  }, deadline);
  const call = (path: string, index: number): Promise<unknown> =>
    runner.execute(index, { tool: "remove", input: JSON.stringify({ path }) }, undefined);
  while (!isTurnLong());
  const first = call("a", 0);
  // A message arrived meanwhile.
  beginTurn();
  await Promise.all([first, call("b", 1), call("c", 2)]);
  expect(begun).toEqual(["a", "b", "c"]);
});

test("calls that wait behind another do not need a turn each", async () => {
  using deadline = new Deadline(60_000, () => {});
  const runner = createRunner(() => null, deadline);
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < 2000) await runner.execute(next++, { tool: "remove", input: "{}" }, undefined);
  };
  while (!isTurnLong());
  const state = { isDone: false };
  const all = Promise.all(Array.from({ length: 32 }, lane)).then(() => {
    state.isDone = true;
  });
  let turns = 0;
  for (; !state.isDone; turns++) await nextTurn();
  await all;
  expect(turns).toBeLessThan(1000);
});

test("nothing is kept of how calls waited to end once they have ended", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const waited: WeakRef<object>[] = [];
  const waiting: AdapterMiddleware = {
    [BEFORE_END]: async () => {
      const value = {};
      waited.push(new WeakRef(value));
      return value as unknown as void;
    },
  };
  using deadline = new Deadline(60_000, () => {});
  const runner = createRunner(() => null, deadline, [waiting]);
  for (let index = 0; index < 100; index++) {
    await runner.execute(index, { tool: "remove", input: "{}" }, undefined);
  }
  await nextTurn();
  collectGarbage();
  expect(waited).toHaveLength(100);
  expect(waited.filter((one) => one.deref() !== undefined).length).toBeLessThan(10);
  runner.hurry();
});
