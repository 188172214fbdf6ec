import { describe, expect, test, vi } from "vitest";
import { STATUS } from "../../protocol/messages.ts";
import { loadEngine } from "./engine.ts";
import { NodeWorker } from "./node-worker.ts";

const engine = await loadEngine();

/** Enters a fragile moment, stays there for a while, and leaves it. */
const STAYS = `
  const { workerData } = process.getBuiltinModule("node:worker_threads");
  const status = new Int32Array(workerData.status);
  Atomics.or(status, ${STATUS.fragile}, 1);
  Atomics.store(status, ${STATUS.polls}, 1);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  Atomics.store(status, ${STATUS.entries}, 1);
  Atomics.and(status, ${STATUS.fragile}, 2);
  for (;;);`;

function startWorker(code: string, onDeath: () => void = () => {}): NodeWorker {
  const url = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  return new NodeWorker(
    { engine, script: { url }, vms: 4 },
    { duty: "pass", onDeath, onFree: () => {}, isOnlyCell: () => false },
  );
}

describe("a thread in a fragile moment", () => {
  test("is not ended by close before the moment is over [host:thread-ends]", async () => {
    const worker = startWorker(STAYS);
    await vi.waitUntil(() => worker.polls === 1, 20_000);
    await worker.close();
    expect(worker.entries).toBe(1);
  });

  test("is ended by kill when the moment is over, and its death is reported at once [host:thread-ends]", async () => {
    const deaths: number[] = [];
    const worker = startWorker(STAYS, () => deaths.push(worker.entries));
    await vi.waitUntil(() => worker.polls === 1, 20_000);
    worker.kill();
    expect(deaths).toEqual([0]);
    await worker.close();
    expect(worker.entries).toBe(1);
  });

  test("is ended anyway if the moment never ends", async () => {
    const worker = startWorker(STAYS.replace("Atomics.wait", "for (;;); Atomics.wait"));
    await vi.waitUntil(() => worker.polls === 1, 20_000);
    await worker.close();
    expect(worker.entries).toBe(0);
  });
});
