import { expect, test } from "vitest";
import { AgentProgram } from "./agent-program.ts";

test("keeps what a hook made of an input until the call is settled, not only until it waits", () => {
  const agentProgram = new AgentProgram("t");
  agentProgram.hook("c", { path: "b" });
  agentProgram.begin("c", "tool", { path: "a" });
  agentProgram.end("c");
  expect(agentProgram.isHooked("c")).toBe(true);
  expect(agentProgram.inputOf("c", { path: "a" })).toEqual({ path: "b" });
  agentProgram.settle("c");
  expect(agentProgram.isHooked("c")).toBe(false);
  expect(agentProgram.pending).toEqual([]);
  expect(agentProgram.isKnown("c")).toBe(true);
});
