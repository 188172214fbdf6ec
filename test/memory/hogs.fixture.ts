/**
 * Programs that all wait for each other with full heaps, and one small program among them. Prints how they ended, and
 * how much the process grew.
 *
 * It uses the embedded worker: to strip types from sources, Node.js would need WebAssembly memories of its own.
 */
import { createHost } from "codecell";
import { embeddedWorkerUrl } from "../../packages/codecell/src/sandbox/node/worker-script.ts";

const MiB = 1024 * 1024;
const [hogs = 0, heapMiB = 0, budgetMiB] = process.argv.slice(2).map(Number);

const host = createHost({
  workers: 2,
  workerUrl: embeddedWorkerUrl(),
  limits: { wallTimeMs: 600_000, memoryBytes: 2 * heapMiB * MiB },
  ...(budgetMiB === undefined ? {} : { heapBudgetBytes: budgetMiB * MiB }),
});
await host.start({ source: "return 1" }).result;
const before = process.memoryUsage.rss();
let most = before;
const sampling = setInterval(() => {
  most = Math.max(most, process.memoryUsage.rss());
}, 5);

let missing = hogs;
const { promise: allWait, resolve } = Promise.withResolvers<void>();
const tools = {
  meet: {
    execute: async () => {
      if (--missing === 0) resolve();
      await allWait;
      return 1;
    },
  },
};
const source = `
  const kept = [];
  for (let n = 0; n < ${heapMiB}; n++) kept.push(new Uint8Array(${MiB}).fill(n + 1));
  await tools.meet({});
  return kept.reduce((sum, bytes) => sum + bytes[bytes.length - 1], 0);`;
const results = await Promise.all([
  ...Array.from({ length: hogs }, () => host.start({ source, tools }).result),
  host.start({ source: "return 42" }).result,
]);
clearInterval(sampling);
const ends: Record<string, number> = {};
for (const result of results) {
  const end = result.status === "completed" ? JSON.stringify(result.value) : JSON.stringify(result);
  ends[end] = (ends[end] ?? 0) + 1;
}
process.stdout.write(
  JSON.stringify({ ends, grownMiB: Math.round((most - before) / MiB), executed: hogs - missing }),
);
process.exit();
