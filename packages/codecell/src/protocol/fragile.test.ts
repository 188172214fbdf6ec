import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { describe, expect, test, vi } from "vitest";
import { decideEnd, inFragileMoment } from "./fragile.ts";
import { STATUS, STATUS_BYTES } from "./messages.ts";

const newStatus = (): Int32Array => new Int32Array(new SharedArrayBuffer(STATUS_BYTES));

describe("a fragile moment", () => {
  test("forbids ending the thread, but only while it lasts", () => {
    const status = newStatus();
    const during = inFragileMoment(status, () => [decideEnd(status), decideEnd(status)]);
    expect(during).toEqual([false, false]);
    expect(decideEnd(status)).toBe(true);
    expect(decideEnd(status)).toBe(true);
  });

  test("ends when its work throws, and passes the error on", () => {
    const status = newStatus();
    const work = (): never => {
      throw new Error("no zlib");
    };
    expect(() => inFragileMoment(status, work)).toThrow("no zlib");
    expect(decideEnd(status)).toBe(true);
  });

  test("does not begin on a thread whose end is decided: the thread stands still until it is ended", async () => {
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
    // Only a waiting thread can be woken, and this one goes on waiting.
    await vi.waitUntil(() => Atomics.notify(status, STATUS.fragile) === 1, 20_000);
    await worker.terminate();
    expect(Atomics.load(status, STATUS.entries)).toBe(0);
  });
});
