import { expect, test } from "vitest";
import { beginTurn, isTurnLong } from "../bridge/turn.ts";
import { resolveLimits } from "../contract/limits.ts";
import { CallRunner } from "./call-runner.ts";
import { Deadline } from "./deadline.ts";
import { RunErrors } from "./run-errors.ts";

test("calls begin in the order they were made, also if one has to wait for its turn", async () => {
  const begun: string[] = [];
  const execute = ({ path }: { path: string }): null => {
    begun.push(path);
    return null;
  };
  using deadline = new Deadline(60_000, () => {});
  const runner = new CallRunner({
    runId: "r",
    tools: { remove: { execute } },
    limits: resolveLimits(),
    context: undefined,
    authorize: undefined,
    rephrase: undefined,
    fetch: undefined,
    signal: new AbortController().signal,
    deadline,
    emit: () => {},
    errors: new RunErrors("r", undefined),
  });
  const call = (path: string, index: number): Promise<unknown> =>
    runner.execute(index, { tool: "remove", input: JSON.stringify({ path }) }, undefined);
  while (!isTurnLong());
  const first = call("a", 0);
  // A message has come meanwhile.
  beginTurn();
  await Promise.all([first, call("b", 1), call("c", 2)]);
  expect(begun).toEqual(["a", "b", "c"]);
});
