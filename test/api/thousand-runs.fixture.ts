/** Runs a thousand programs of all kinds and prints how many workers and handles are left, before and after. */
import { createHost, run, type ToolSet } from "codecell";

let workers = 0;
process.on("worker", (worker) => {
  workers++;
  worker.once("exit", () => workers--);
});

const tools: ToolSet = {
  wait: { execute: () => new Promise((resolve) => setTimeout(resolve, 2)) },
  fail: { execute: () => Promise.reject(new Error("no")) },
  ask: { execute: (_input, call) => call.suspend("well?") },
};
const sources = [
  "return 1",
  "throw new Error('x')",
  "return await tools.wait({})",
  "await tools.fail({})",
  "await tools.ask({})",
  "await new Promise(() => {})",
  "setTimeout(() => {}, 1e6); return 1",
  "const",
  "tools.wait({}); throw 1",
  "const a = []; for (;;) a.push('x'.repeat(1e4))",
];

function count(): { readonly workers: number; readonly handles: number } {
  return { workers, handles: process.getActiveResourcesInfo().filter((name) => name !== "Immediate").length };
}

async function thousand(): Promise<ReturnType<typeof count>> {
  for (let batch = 0; batch < 20; batch++) {
    const runs = Array.from({ length: 50 }, (_, index) =>
      host.start({
        source: sources[index % sources.length] ?? "",
        tools,
        signal,
        limits: { memoryBytes: 4 << 20 },
      }),
    );
    await Promise.all(runs.map(({ result }) => result));
  }
  // On a busy machine a worker may look held, and another is started. Such workers leave after a second without use.
  for (let looks = 0; hasSurplus() && looks < 200; looks++) await pause(50);
  // Workers that were about to leave have left by now.
  await pause(300);
  return count();
}

function hasSurplus(): boolean {
  return workers > WORKERS;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}

const WORKERS = 2;
const { signal } = new AbortController();
const host = createHost({ workers: WORKERS });
// Keeps the event loop alive while everything else is unref'd.
const beat = setInterval(() => {}, 50);
const first = await thousand();
const second = await thousand();
await host[Symbol.asyncDispose]();
const disposed = count();
await run({ source: "return 1" });
clearInterval(beat);
console.log(JSON.stringify({ first, second, disposed }));
// This process has to end by itself.
