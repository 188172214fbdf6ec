import { expect, test } from "vitest";
import type { RunKeeping } from "../durable/run-keeping.ts";
import { newPast } from "../durable/run-past.ts";
import { resolveLimits } from "../contract/limits.ts";
import { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { Dispatcher, type DispatcherSetup } from "./dispatcher.ts";

test.each([
  ["a tool", {}, 'tool "globalThis.fetch"'],
  ["a fetch, in a run that has fetch", { fetch: true }, "fetch"],
] as const)("a call whose executor is gone is named as %s", async (_what, features, named) => {
  const call = { tool: "globalThis.fetch", input: "{}" };
  const header = { runId: "r", source: "", language: "javascript", seed: "", clock: 0 } as const;
  const recorder = new LedgerRecorder(
    { ...header, limits: resolveLimits(), toolNames: [], features },
    { calls: [call], deliveries: [] },
  );
  const elsewhere = new Map([[0, { executor: "gone", resolution: undefined }]]);
  const keeping: Pick<RunKeeping, "awaitOutcome"> = { awaitOutcome: () => Promise.resolve(undefined) };
  const dispatcher = new Dispatcher({
    tools: {},
    runner: {} as DispatcherSetup["runner"],
    keeping: keeping as RunKeeping,
    past: { ...newPast(recorder), elsewhere },
    isStopping: () => false,
  });
  expect(await dispatcher.outcomeOf(0, call)).toMatchObject({
    failure: {
      code: "outcome_unknown",
      message: expect.stringMatching(`^The outcome of calling ${named} is unknown`) as string,
    },
  });
});
