import { expect, test } from "vitest";
import { RULE_MS } from "../../../../test/fuzz/fuzzer.ts";
import { largestTurnMs } from "../../../../test/fuzz/thread-time.ts";
import { AgentProgram } from "./agent-program.ts";
import { AgentPrograms } from "./agent-programs.ts";
import { AgentRun, type AgentRunSetup } from "./agent-run.ts";

test("resolving as many calls as can wait does not block the host's thread [host:short-turns]", async () => {
  const agentPrograms = new AgentPrograms(1);
  const agentProgram = new AgentProgram("c", undefined, "r");
  const callIds = Array.from({ length: 4096 }, (_, index) => `r:${index}`);
  for (const callId of callIds) for (const _ of agentProgram.ask(callId, "t", {}, "May it?"));
  agentPrograms.hold(agentProgram, "s", 60_000, () => {});
  const run = new AgentRun({ agentPrograms, scope: "s" } as unknown as AgentRunSetup);
  const resolutions = Object.fromEntries(callIds.map((callId) => [callId, { resolution: true }]));
  const ms = await largestTurnMs(() => () => run.resolve(resolutions), { attempts: 4, enough: RULE_MS });
  expect(ms).toBeLessThan(RULE_MS);
  expect(agentProgram.resolutions).toEqual(resolutions);
  expect(() => run.resolve({ "r:4096": { deny: "no" } })).toThrow('Cannot resolve call "r:4096"');
});
