import { expect, test } from "vitest";
import type { Contestant } from "../contestants/contestant.ts";
import { Attempts, measureOneByOne, nextSalt } from "./attempts.ts";

const program = { source: "return 1", tools: {}, expected: { n: 1 } };

function createFake(run: () => Promise<unknown>): Contestant {
  return {
    id: "fake",
    name: "Fake",
    kind: "peer",
    engine: "v8",
    sandbox: false,
    stopsLoops: false,
    open: async () => {},
    run,
    close: async () => {},
  };
}

test("a wrong value and a rejection both count as failed, the first one gives the message", async () => {
  const attempts = new Attempts();
  expect(
    await attempts.run(
      createFake(async () => ({ n: 1 })),
      program,
    ),
  ).toBe(true);
  expect(
    await attempts.run(
      createFake(async () => ({ n: 2 })),
      program,
    ),
  ).toBe(false);
  expect(
    await attempts.run(
      createFake(() => Promise.reject(new Error("refused"))),
      program,
    ),
  ).toBe(false);
  expect(attempts.sample({})).toEqual({
    metrics: {},
    attempted: 3,
    failed: 2,
    failure: 'wrong value: {"n":2}',
  });
});

test("a contestant that fails is not timed", async () => {
  const pace = { warmMs: 2, blockMs: 5, minRuns: 2, maxRuns: 10 };
  const broken = await measureOneByOne(
    createFake(() => Promise.reject(new Error("no"))),
    () => program,
    pace,
  );
  expect(broken).toMatchObject({ metrics: {}, failed: broken.attempted });
  const working = await measureOneByOne(
    createFake(async () => ({ n: 1 })),
    () => program,
    pace,
  );
  expect(working.failed).toBe(0);
  expect(working.metrics["p50"]).toBeGreaterThan(0);
});

test("no two runs share a source", () => {
  expect(nextSalt()).not.toBe(nextSalt());
});
