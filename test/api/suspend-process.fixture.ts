/** Suspends a run and prints its suspension, or resumes the one on standard input and prints the result. */
import { text } from "node:stream/consumers";
import { createHost, type Suspension, type ToolSet } from "codecell";

const tools: ToolSet = { ask: { execute: (_input, call) => call.resolution ?? call.suspend("well?") } };

const host = createHost({ workers: 1 });
if (process.argv[2] === "suspend") {
  const result = await host.start({ source: "return await tools.ask({})", tools, scope: "ana" }).result;
  console.log(JSON.stringify(result.status === "suspended" ? result.suspension : result));
} else {
  const { token, pending } = JSON.parse(await text(process.stdin)) as Suspension;
  const resolutions = Object.fromEntries(pending.map(({ callId }) => [callId, { resolution: process.pid }]));
  const result = await host.resume({ token, resolutions, tools, scope: "ana" }).result;
  console.log(JSON.stringify(result));
}
await host[Symbol.asyncDispose]();
