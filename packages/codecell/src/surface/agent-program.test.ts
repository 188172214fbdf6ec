import { expect, test } from "vitest";
import { atOnce } from "../loop/turn.ts";
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

test("lists calls in the order the program made them, whichever began or asked first", () => {
  const agentProgram = new AgentProgram("t");
  for (const callId of ["r:10", "r:2", "r:9"]) agentProgram.begin(callId, "tool", {});
  atOnce(agentProgram.ask("r:1", "tool", {}, "may it?"));
  expect(agentProgram.pending.map(({ id }) => id)).toEqual(["r:1", "r:2", "r:9", "r:10"]);
});
