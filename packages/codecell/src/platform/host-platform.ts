/**
 * HostPlatform: what the host's own code takes from where it runs: the order of its event loop, the context of its callers,
 * random ids. Runs anywhere.
 *
 * - Chosen once, when this file is loaded. What Node.js has is asked for by name and never imported, so a page loads it too.
 * - Globals are read when they are used: tests put others in their place.
 */
export interface HostPlatform {
  /** Calls behind what is running now and its microtasks, and before anything that was due later. */
  readonly afterThis: (act: () => void) => void;
  /** Calls behind the timers that are due together with what is running now. */
  readonly afterTimers: (act: () => void) => void;
  /** Calls others in the context of whoever called this: where there are such contexts, their storage is intact. */
  readonly captureContext: () => CallInContext;
  readonly randomUUID: () => string;
  /** Calls when it was not restarted for so long. Keeps no process alive. Begins with the first `restart`. */
  readonly createRestTimer: (act: () => void, ms: number) => RestTimer;
}

export type CallInContext = <T>(act: () => T) => T;

export interface RestTimer {
  restart(): void;
  stop(): void;
}

export function createNodeHostPlatform(): HostPlatform {
  const { AsyncLocalStorage } = process.getBuiltinModule("node:async_hooks");
  // Draws its random bytes in batches.
  const { randomUUID } = process.getBuiltinModule("node:crypto");
  return {
    afterThis: (act) => process.nextTick(act),
    afterTimers: (act) => void setImmediate(act),
    captureContext: () => AsyncLocalStorage.snapshot(),
    randomUUID: () => randomUUID(),
    createRestTimer: (act, ms) => new NodeRestTimer(act, ms),
  };
}

/** Restarting one timer is cheaper than making another; most are never due. */
class NodeRestTimer implements RestTimer {
  readonly #act: () => void;
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(act: () => void, ms: number) {
    this.#act = act;
    this.#ms = ms;
  }

  restart(): void {
    this.#timer = this.#timer?.refresh() ?? setTimeout(this.#act, this.#ms).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    // One that was cleared cannot be set again.
    this.#timer = undefined;
  }
}

/** Where there is nothing but what pages have. */
export function createPageHostPlatform(): HostPlatform {
  return {
    afterThis: createTasks(),
    afterTimers: (act) => void setTimeout(act),
    captureContext: () => (act) => act(),
    randomUUID: () => crypto.randomUUID(),
    createRestTimer: (act, ms) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const stop = (): void => clearTimeout(timer);
      const restart = (): void => {
        stop();
        timer = setTimeout(act, ms);
      };
      return { restart, stop };
    },
  };
}

/** Messages come sooner than timers, which pages hold back. The channel is made when it is needed. */
function createTasks(): (act: () => void) => void {
  const tasks: (() => void)[] = [];
  let post: (() => void) | undefined;
  const open = (): (() => void) => {
    const { port1, port2 } = new MessageChannel();
    Object.assign(port1, { onmessage: () => tasks.shift()?.() });
    return () => port2.postMessage(null);
  };
  return (act) => {
    post ??= open();
    tasks.push(act);
    post();
  };
}

const isNode = typeof process === "object" && typeof process.getBuiltinModule === "function";

export const platform: HostPlatform = isNode ? createNodeHostPlatform() : createPageHostPlatform();
