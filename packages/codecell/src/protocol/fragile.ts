/**
 * Fragile: moments of a worker in which its thread must not be ended.
 *
 * Node.js makes its zlib objects in two steps. A thread that is ended between the two aborts the whole process ("close
 * before init"; Node 22, 24 and 26).
 *
 * - A worker says that it comes into such a moment, a host that it ends the thread, each before it looks for what the
 *   other has said. So a host waits for one moment at most, and a worker whose end is decided comes into none: it stands
 *   still until it is ended.
 */
import { STATUS } from "./messages.ts";

const INSIDE = 1;
const DECIDED = 2;

/** On the worker: does work in which its thread must not be ended. */
export function inFragileMoment<T>(status: Int32Array, work: () => T): T {
  if ((Atomics.or(status, STATUS.fragile, INSIDE) & DECIDED) !== 0) standStill(status);
  try {
    return work();
  } finally {
    Atomics.and(status, STATUS.fragile, DECIDED);
  }
}

function standStill(status: Int32Array): never {
  Atomics.and(status, STATUS.fragile, DECIDED);
  for (;;) Atomics.wait(status, STATUS.fragile, DECIDED);
}

/** On the host: decides to end the thread. Whether that may be done now; if not, it is to be asked again. */
export function decideEnd(status: Int32Array): boolean {
  return (Atomics.or(status, STATUS.fragile, DECIDED) & INSIDE) === 0;
}
