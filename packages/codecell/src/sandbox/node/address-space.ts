/**
 * Address space: how many threads and vms a process has addresses for, if they are limited (`ulimit -v`). Runs on the
 * host.
 *
 * - Runs before a pool starts its first worker. Asks the system; if the system does not say, there is no limit.
 * - V8 reserves 8 to 10 GiB of addresses for every WebAssembly memory, whatever its size, and ends the process if it
 *   finds no addresses for a thread's heap. So nothing is started that might not fit.
 */
import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { SandboxUnavailable } from "../sandbox.ts";

export interface Threads {
  /** The number of workers in ordinary times. */
  readonly workers: number;
  /** The most workers while single cells hold some of them, not counting compute threads. */
  readonly maxWorkers: number;
  /** Compute threads: workers for cells that compute while others wait. With 0, such cells share the other workers. */
  readonly computeWorkers: number;
}

export interface ThreadPlan extends Threads {
  /** The most vms that a worker may have at the same time. */
  readonly vms: number;
}

/** In bytes. */
export interface AddressSpace {
  readonly limit: number;
  readonly used: number;
}

const GiB = 1024 ** 3;
/** Heap and stack of a thread: 0.6 to 0.9 GB in Node 22, 24 and 26. */
const WORKER_BYTES = GiB;
/** Reserved for the rest of the process. */
const SPARE_BYTES = GiB;
/** V8 keeps a dropped memory until it collects garbage. */
const DROPPED_VMS = 1;
const MOST_VMS = 64;
/** With fewer vms, waiting cells are parked after almost every burst, and more threads do not pay off. */
const GOOD_VMS = 8;
const PROBE_TEXT =
  'const{readFileSync}=process.getBuiltinModule("node:fs");' +
  String.raw`const used=()=>1024*Number(/^VmSize:\s+(\d+)/mu.exec(readFileSync("/proc/self/status","utf8"))[1]);` +
  "const before=used();const memory=new WebAssembly.Memory({initial:1,maximum:2048});" +
  'process.getBuiltinModule("node:worker_threads").parentPort.postMessage(Math.max(used()-before,memory.buffer.byteLength))';

/**
 * The threads that the process can have out of those it wants. Throws if it can have none, with a message for the
 * host's programmer.
 */
export async function planThreads(wanted: Threads): Promise<ThreadPlan> {
  const space = readAddressSpace();
  if (space === undefined) return { ...wanted, vms: MOST_VMS };
  const left = space.limit - space.used - SPARE_BYTES;
  return planWithin(space, left < WORKER_BYTES ? Infinity : await probeVmBytes(), wanted);
}

export function planWithin(space: AddressSpace, vmBytes: number, wanted: Threads): ThreadPlan {
  const left = space.limit - space.used - SPARE_BYTES;
  const threadsWith = (vms: number): number =>
    Math.min(
      wanted.maxWorkers + wanted.computeWorkers,
      Math.floor(left / (WORKER_BYTES + (vms + DROPPED_VMS) * vmBytes)),
    );
  // One thread more than in ordinary times, so that a cell that computes does not stop all others.
  const threads = Math.max(threadsWith(GOOD_VMS), Math.min(wanted.workers + 1, threadsWith(1)));
  if (threads >= 1) {
    const vms = Math.floor((left / threads - WORKER_BYTES) / vmBytes) - DROPPED_VMS;
    return { ...shared(threads, wanted), vms: Math.min(vms, MOST_VMS) };
  }
  if (left >= WORKER_BYTES + vmBytes) return { ...shared(1, wanted), vms: 1 };
  const needed = Number.isFinite(vmBytes)
    ? ` and ${toGB(WORKER_BYTES + SPARE_BYTES + vmBytes)} are needed`
    : "";
  throw new SandboxUnavailable(
    `this process has ${toGB(space.limit - space.used)} left of the ${toGB(space.limit)} of addresses it may use${needed}: raise its limit (ulimit -v), or start Node.js with --disable-wasm-trap-handler`,
  );
}

/** Divides threads among both kinds; at least one of several is a compute thread. */
function shared(threads: number, wanted: Threads): Threads {
  const spare = Math.max(1, threads - wanted.workers);
  const computeWorkers = threads > 1 ? Math.min(wanted.computeWorkers, spare) : 0;
  const maxWorkers = Math.min(wanted.maxWorkers, threads - computeWorkers);
  return { workers: Math.min(wanted.workers, maxWorkers), maxWorkers, computeWorkers };
}

/** Whether there are addresses for another thread, without a vm. */
export function hasRoomForThread(): boolean {
  const space = readAddressSpace();
  return space === undefined || space.limit - space.used > WORKER_BYTES;
}

/** Undefined if there is no limit. */
function readAddressSpace(): AddressSpace | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const limit = /^Max address space\s+(\d+)/mu.exec(readFileSync("/proc/self/limits", "utf8"));
    const used = /^VmSize:\s+(\d+) kB/mu.exec(readFileSync("/proc/self/status", "utf8"));
    if (limit === null || used === null) return undefined;
    return { limit: Number(limit[1]), used: Number(used[1]) * 1024 };
  } catch {
    // If reading is forbidden, a later failure tells the host.
    return undefined;
  }
}

/**
 * The addresses of a vm's memory, which depend on version and flags of Node.js. Measured on a separate thread, because
 * its end gives the addresses back at once. Infinity if there are too few.
 */
async function probeVmBytes(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const probe = new Worker(new URL(`data:text/javascript,${encodeURIComponent(PROBE_TEXT)}`), {
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
  });
  probe.on("message", (bytes) => resolve(Number(bytes)));
  probe.on("error", () => resolve(Infinity));
  probe.on("exit", () => resolve(Infinity));
  const bytes = await promise;
  await probe.terminate();
  return bytes;
}

function toGB(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
