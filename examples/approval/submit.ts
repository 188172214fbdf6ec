/** First command: runs the program until it has to wait for a person, and exits. */
import { createHost } from "codecell";
import { openStore, toolsOf } from "./office.ts";
import { PROGRAM } from "./program.ts";

const folder = process.argv[2] ?? ".";
const store = await openStore(folder);
const host = createHost({ workers: 1, store });

const result = await host.start({ source: PROGRAM, tools: toolsOf(folder) }).result;
if (result.status === "suspended") {
  console.log(`The program waits, process ${process.pid} does not. Pending:`);
  for (const { tool, payload } of result.suspension.pending)
    console.log(`  ${tool}: ${JSON.stringify(payload)}`);
} else console.log(result);
await host[Symbol.asyncDispose]();
await store[Symbol.asyncDispose]();
