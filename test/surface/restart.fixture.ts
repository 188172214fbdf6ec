/**
 * A process of an agent. `exec` begins a program and prints its waiting result; `wait` continues a program and prints
 * the result. With a file as its store, programs outlive the process.
 *
 * It ends as told: by itself, or by killing itself in the middle of everything.
 */
import { appendFileSync } from "node:fs";
import { createHost } from "codecell";
import { openSqliteStore } from "codecell/store/sqlite";
import { type AgentTools, createAgentRuntime } from "codecell/surface";
import { CONTEXT } from "./fixtures.ts";

const [mode = "", folder = "", durable = "", ending = "", runId = ""] = process.argv.slice(2);

const SOURCE = `
const kept = { list: [1, 2, 3] };
text("before");
kept.paid = await tools.pay({ amount: 7 });
kept.looked = await tools.look_up({});
text("after");
return kept`;

const tools: AgentTools = {
  core: {
    pay: {
      execute: ({ amount }: { amount: number }) => {
        appendFileSync(`${folder}/payments.txt`, `${amount}\n`);
        return { amount };
      },
    },
    // Takes longer than the first process lives, and stops when it is aborted. Calling it again changes nothing.
    look_up: {
      readOnly: true,
      execute: (_input, { signal }) =>
        mode === "exec"
          ? new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("given up"))))
          : "found",
    },
  },
};

const store = durable === "durable" ? await openSqliteStore({ path: `${folder}/runs.db` }) : undefined;
const host = createHost({ workers: 1, leaseMs: 500, ...(store === undefined ? {} : { store }) });
const runtime = createAgentRuntime({ host });
// The time of `exec` runs out while it looks up. That of `wait` does not, however busy the machine is.
const timeoutMs = mode === "exec" ? 3000 : 60_000;
const run = runtime.prepareAgentRun({ config: { enabled: true, timeoutMs }, tools, context: CONTEXT });
const result = mode === "exec" ? await run.exec({ code: SOURCE }) : await run.wait({ runId });
console.log(JSON.stringify(result));
if (ending === "killed") process.kill(process.pid, "SIGKILL");
await runtime[Symbol.asyncDispose]();
await host[Symbol.asyncDispose]();
await store?.[Symbol.asyncDispose]();
