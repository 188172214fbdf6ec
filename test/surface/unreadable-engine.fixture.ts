/** Prints what an agent run shows and answers in a process that may read everything but the engine. */
import { createAgentRuntime } from "codecell/surface";
import { CONTEXT, createFixtures, POLICY } from "./fixtures.ts";

await using runtime = createAgentRuntime();
const { tools, told } = createFixtures();
const run = runtime.prepareAgentRun({ config: true, tools, policy: POLICY, context: CONTEXT });
const results = [
  await run.exec({ code: "return await tools.echo({})" }),
  await run.exec({ code: "return 1", language: "typescript" }),
];
const visible = run.visibleTools.map(({ name }) => name);
console.log(JSON.stringify({ visible, results, calls: told.length }));
