/**
 * Address space: how many threads and vms a process has addresses for, where they are limited (`ulimit -v`).
 *
 * - Runs on the host, before a pool starts its first worker. Asks the system; where that does not tell, there is no limit.
 * - V8 takes 8 to 10 GiB of addresses for every memory of WebAssembly, whatever it holds, and ends the process when it
 *   finds none for the heap of a thread. So nothing is started that might not fit.
 */
import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { SandboxUnavailable } from "../sandbox.ts";

export interface Threads {
  /** Workers in ordinary times. */
  readonly workers: number;
  /** Workers while some are held by single cells, without those for cells that compute. */
  readonly maxWorkers: number;
  /** Workers for cells that compute while others wait; where there is none, such cells share the others. */
  readonly computeWorkers: number;
}

export interface ThreadPlan extends Threads {
  /** Vms that a worker may have at the same time. */
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
/** What the rest of the process may still want. */
const SPARE_BYTES = GiB;
/** V8 keeps a dropped memory until it collects. */
const DROPPED_VMS = 1;
const MOST_VMS = 64;
/** With fewer, cells that wait are parked at almost every turn: then more threads do not pay. */
const GOOD_VMS = 8;
const PROBE_TEXT =
  'const{readFileSync}=process.getBuiltinModule("node:fs");' +
  String.raw`const used=()=>1024*Number(/^VmSize:\s+(\d+)/mu.exec(readFileSync("/proc/self/status","utf8"))[1]);` +
  "const before=used();const memory=new WebAssembly.Memory({initial:1,maximum:2048});" +
  'process.getBuiltinModule("node:worker_threads").parentPort.postMessage(Math.max(used()-before,memory.buffer.byteLength))';

/** What the process can have of the threads it wants. Throws, with words for the host's programmer, when it can have none. */
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
  // One more than in ordinary times, so that a cell that computes does not stop all others.
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

/** At least one for cells that compute, if there is more than one. */
function shared(threads: number, wanted: Threads): Threads {
  const spare = Math.max(1, threads - wanted.workers);
  const computeWorkers = threads > 1 ? Math.min(wanted.computeWorkers, spare) : 0;
  const maxWorkers = Math.min(wanted.maxWorkers, threads - computeWorkers);
  return { workers: Math.min(wanted.workers, maxWorkers), maxWorkers, computeWorkers };
}

/** Whether there are addresses for one more thread, without a vm. */
export function hasRoomForThread(): boolean {
  const space = readAddressSpace();
  return space === undefined || space.limit - space.used > WORKER_BYTES;
}

/** Undefined where there is no limit. */
function readAddressSpace(): AddressSpace | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const limit = /^Max address space\s+(\d+)/mu.exec(readFileSync("/proc/self/limits", "utf8"));
    const used = /^VmSize:\s+(\d+) kB/mu.exec(readFileSync("/proc/self/status", "utf8"));
    if (limit === null || used === null) return undefined;
    return { limit: Number(limit[1]), used: Number(used[1]) * 1024 };
  } catch {
    // Whoever may not read this is told by what fails.
    return undefined;
  }
}

/**
 * What a vm's memory takes, which depends on version and flags of Node.js. Tried on a thread of its own, since its end
 * gives the addresses back at once. Infinity when there are too few.
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
