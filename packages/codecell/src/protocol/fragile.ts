/**
 * Fragile: moments in which a worker's thread must not be ended. Known to host and worker.
 *
 * - Node.js makes its zlib objects in two steps. If a thread is ended between the two, the whole process aborts ("close
 *   before init"; Node 22, 24 and 26).
 * - The worker announces such a moment, and the host announces that it ends the thread. Each announces first and then
 *   reads what the other has announced. So a host waits for one moment at most. A worker whose end is decided enters no
 *   such moment: it waits until it is ended.
 */
import { STATUS } from "./messages.ts";

const INSIDE = 1;
const DECIDED = 2;

/** On the worker: does work during which its thread must not be ended. */
export function inFragileMoment<T>(status: Int32Array, work: () => T): T {
  if ((Atomics.or(status, STATUS.fragile, INSIDE) & DECIDED) !== 0) waitForEnd(status);
  try {
    return work();
  } finally {
    Atomics.and(status, STATUS.fragile, DECIDED);
  }
}

function waitForEnd(status: Int32Array): never {
  Atomics.and(status, STATUS.fragile, DECIDED);
  for (;;) Atomics.wait(status, STATUS.fragile, DECIDED);
}

/** On the host: decides to end the thread. Returns whether the thread may be ended now; if not, ask again later. */
export function decideEnd(status: Int32Array): boolean {
  return (Atomics.or(status, STATUS.fragile, DECIDED) & INSIDE) === 0;
}
