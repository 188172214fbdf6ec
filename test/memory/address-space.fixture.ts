/**
 * Starts many runs at once, in a process with a limited address space, and prints how they ended.
 *
 * It uses the embedded worker: to strip types from sources, Node.js would need WebAssembly memories of its own.
 */
import { createHost } from "codecell";
import { embeddedWorkerUrl } from "../../packages/codecell/src/sandbox/node/worker-script.ts";

const host = createHost({ workers: 2, workerUrl: embeddedWorkerUrl(), limits: { wallTimeMs: 120_000 } });
let waiting = Number(process.argv[2]);
const { promise: allWait, resolve } = Promise.withResolvers<void>();
const tools = {
  // No run goes on before all runs are here.
  meet: {
    execute: async () => {
      if (--waiting === 0) resolve();
      await allWait;
      return 1;
    },
  },
};
const source = "const bytes = new Uint8Array(3e6).fill(1); return bytes[7] + (await tools.meet({}))";
const results = await Promise.all(
  Array.from({ length: waiting }, () => host.start({ source, tools }).result),
);
const ends: Record<string, number> = {};
for (const result of results) {
  const end =
    result.status === "failed" ? `${result.failure.code}: ${result.failure.message}` : result.status;
  const shown = end.replaceAll(/[\d.]+ GB/gu, "# GB");
  ends[shown] = (ends[shown] ?? 0) + 1;
}
process.stdout.write(JSON.stringify(ends));
process.exit();
