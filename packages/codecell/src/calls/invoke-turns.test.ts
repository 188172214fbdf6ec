import { expect, test, vi } from "vitest";
import { z } from "zod";
import { toCallSetup } from "../../../../test/call-setup.ts";
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
  const tools = { t: { input: judged, execute: () => null } };
  const { kind } = await invoke(toCallSetup({ tools, input: JSON.stringify(input) }));
  expect(kind).toBe("output");
  return happened.slice(0, happened.indexOf("judged") + 1);
}

test("a large input is built in one turn and judged in another", async () => {
  const large = Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`k${index}`, 1]));
  expect(await call(large)).toEqual(["turn", "judged"]);
});

test("an ordinary input waits for no turn", async () => {
  expect(await call({ a: 1 })).toEqual(["judged"]);
});
