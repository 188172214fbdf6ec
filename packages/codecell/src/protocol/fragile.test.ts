import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { describe, expect, test, vi } from "vitest";
import { decideEnd, inFragileMoment } from "./fragile.ts";
import { STATUS, STATUS_BYTES } from "./messages.ts";

const newStatus = (): Int32Array => new Int32Array(new SharedArrayBuffer(STATUS_BYTES));

describe("a fragile moment", () => {
  test("is one in which the thread may not be ended, and no longer", () => {
    const status = newStatus();
    const during = inFragileMoment(status, () => [decideEnd(status), decideEnd(status)]);
    expect(during).toEqual([false, false]);
    expect(decideEnd(status)).toBe(true);
    expect(decideEnd(status)).toBe(true);
  });

  test("ends with a throw too, which goes on", () => {
    const status = newStatus();
    const work = (): never => {
      throw new Error("no zlib");
    };
    expect(() => inFragileMoment(status, work)).toThrow("no zlib");
    expect(decideEnd(status)).toBe(true);
  });

  test("is not begun by a thread whose end is decided: it stands still until it is ended", async () => {
    const status = newStatus();
    expect(decideEnd(status)).toBe(true);
    const code = `const { parentPort, workerData } = require("node:worker_threads");
      import(${JSON.stringify(new URL("fragile.ts", import.meta.url).href)}).then(({ inFragileMoment }) => {
        parentPort.postMessage("came");
        inFragileMoment(workerData, () => Atomics.store(workerData, ${STATUS.entries}, 1));
        Atomics.store(workerData, ${STATUS.entries}, 2);
      });`;
    const worker = new Worker(code, { eval: true, workerData: status });
    await once(worker, "message");
    // Only who waits can be woken, and it goes on waiting.
    await vi.waitUntil(() => Atomics.notify(status, STATUS.fragile) === 1, 20_000);
    await worker.terminate();
    expect(Atomics.load(status, STATUS.entries)).toBe(0);
  });
});
