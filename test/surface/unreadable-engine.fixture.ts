/**
 * Prints what an agent run shows and answers in a process that can read neither the engine's file nor the embedded
 * engine.
 */
import { registerHooks } from "node:module";
import { createAgentRuntime } from "codecell/surface";
import { CONTEXT, createFixtures, POLICY } from "./fixtures.ts";

// The embedded engine would be loaded when the engine's own file cannot be read.
registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier.includes("embedded.generated")) throw new Error("Not for this process");
    return next(specifier, context);
  },
});

const runtime = createAgentRuntime();
const { tools, told } = createFixtures();
const run = runtime.prepareAgentRun({ config: true, tools, policy: POLICY, context: CONTEXT });
const results = [
  await run.exec({ code: "return await tools.echo({})" }),
  await run.exec({ code: "return 1", language: "typescript" }),
];
const visible = run.visibleTools.map(({ name }) => name);
console.log(JSON.stringify({ visible, results, calls: told.length }));
await runtime[Symbol.asyncDispose]();
