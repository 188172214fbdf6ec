import { expect, test } from "vitest";
import { AgentProgram } from "./agent-program.ts";

test("keeps the input that was decided on until the call is settled, also while the call waits", () => {
  const agentProgram = new AgentProgram("t");
  agentProgram.keep("c", { path: "b" });
  agentProgram.begin("c", "tool", { path: "a" });
  agentProgram.end("c");
  expect(agentProgram.keptOf("c")).toMatchObject({ input: { path: "b" } });
  agentProgram.settle("c");
  expect(agentProgram.keptOf("c")).toBeUndefined();
  expect(agentProgram.pending).toEqual([]);
  expect(agentProgram.isKnown("c")).toBe(true);
});
