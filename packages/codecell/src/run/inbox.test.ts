import v8 from "node:v8";
import vm from "node:vm";
import { expect, test } from "vitest";
import { resolveLimits } from "../contract/limits.ts";
import { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { emptyHeader } from "./host/header.ts";
import { Inbox } from "./inbox.ts";

v8.setFlagsFromString("--expose-gc");
const collect = vm.runInNewContext("gc") as () => void;

/** Bytes of the heap after a collection. */
function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

const UNIT_BYTES = 2;
const TIMES = 20_000;

test.each([1, 2, 40])(
  "the host keeps no more for %i timers that fire together than they count for",
  async (together) => {
    const recorder = new LedgerRecorder({ ...emptyHeader(), runId: "r", limits: resolveLimits() });
    const inbox = new Inbox(
      undefined,
      (delivery) => recorder.addDelivery(delivery),
      () => {},
    );
    const fire = async (times: number): Promise<void> => {
      for (let time = 0; time < times; time += together) {
        for (let timer = 0; timer < together; timer++) inbox.add({ kind: "timer", timer });
        await new Promise(setImmediate);
      }
    };
    // After this, everything is compiled and cached.
    await fire(1000);
    const [heap, size] = [heapBytes(), recorder.size];
    await fire(TIMES);
    expect(heapBytes() - heap).toBeLessThan((recorder.size - size) * UNIT_BYTES);
  },
);
