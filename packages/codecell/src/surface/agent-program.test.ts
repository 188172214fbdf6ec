import { expect, test } from "vitest";
import { AgentProgram } from "./agent-program.ts";

test("keeps what a hook made of an input until the call is settled, not only until it waits", () => {
  const agentProgram = new AgentProgram("t");
  agentProgram.hook("c", { rewrite: { path: "b" } });
  agentProgram.begin("c", "tool", { path: "a" });
  agentProgram.end("c");
  expect(agentProgram.hookedAs("c")).toEqual({ rewrite: { path: "b" } });
  agentProgram.settle("c");
  expect(agentProgram.hookedAs("c")).toBeUndefined();
  expect(agentProgram.pending).toEqual([]);
  expect(agentProgram.isKnown("c")).toBe(true);
});
