import { expect, test, vi } from "vitest";
import { z } from "zod";
import { resolveLimits } from "../contract/limits.ts";
import type { nextTurn } from "../loop/turn.ts";
import { invoke } from "./invoke.ts";

const happened: string[] = [];

vi.mock(import("../loop/turn.ts"), async (original) => {
  const actual = await original();
  return {
    ...actual,
    nextTurn: vi.fn<typeof nextTurn>(async () => {
      happened.push("turn");
      await actual.nextTurn();
    }),
  };
});

async function call(input: unknown): Promise<readonly string[]> {
  happened.length = 0;
  const judged = z.unknown().refine(() => happened.push("judged"));
  const { status } = await invoke({
    tools: { t: { input: judged, execute: () => null } },
    tool: "t",
    input: JSON.stringify(input),
    context: {
      runId: "r",
      callId: "r:0",
      idempotencyKey: "r:0",
      signal: new AbortController().signal,
      context: undefined,
      resolution: undefined,
    },
    limits: resolveLimits({}),
    middleware: [],
    judgeApart: () => Promise.resolve({ kind: "unknown" }),
    onStart: () => {},
    onProgress: () => {},
    onError: () => {},
  });
  expect(status).toBe("completed");
  return happened.slice(0, happened.indexOf("judged") + 1);
}

test("a large input is judged in another turn than the one in which it was built", async () => {
  const large = Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`k${index}`, 1]));
  expect(await call(large)).toEqual(["turn", "judged"]);
});

test("an ordinary input waits for no turn", async () => {
  expect(await call({ a: 1 })).toEqual(["judged"]);
});
