/**
 * HostPlatform: what the host's code takes from its environment: the order of the event loop, the context of callers,
 * random ids, timers that keep no process alive. Runs anywhere.
 *
 * - The platform is chosen once, when this file is loaded. It asks Node.js for modules by name and never imports them,
 *   so a page can load this file too.
 * - Globals are read at each use, because tests replace them.
 */
export interface HostPlatform {
  /** Calls `act` after the code that runs now and its microtasks, and before anything that is due later. */
  readonly afterThis: (act: () => void) => void;
  /** Calls `act` after the timers that are due together with the code that runs now. */
  readonly afterTimers: (act: () => void) => void;
  /**
   * Gives a function that calls others in the present caller's context, with its async storage where the environment
   * has that.
   */
  readonly captureContext: () => CallInContext;
  readonly randomUUID: () => string;
  /** Calls `act` when nobody restarted the timer for `ms`. The first `restart` starts it. It keeps no process alive. */
  readonly createRestTimer: (act: () => void, ms: number) => RestTimer;
}

export type CallInContext = <T>(act: () => T) => T;

export interface RestTimer {
  restart(): void;
  stop(): void;
}

export function createNodeHostPlatform(): HostPlatform {
  const { AsyncResource } = process.getBuiltinModule("node:async_hooks");
  // This function draws random bytes in batches.
  const { randomUUID } = process.getBuiltinModule("node:crypto");
  return {
    afterThis: (act) => process.nextTick(act),
    afterTimers: (act) => void setImmediate(act),
    captureContext: () => {
      // Each run captures a context: `AsyncLocalStorage.snapshot` takes twenty times as long.
      // Observers of async resources hear of its end when it is collected: nobody else knows when that is.
      const resource = new AsyncResource("codecell.run");
      return resource.runInAsyncScope.bind(resource);
    },
    randomUUID: () => randomUUID(),
    createRestTimer: (act, ms) => new NodeRestTimer(act, ms),
  };
}

/** Restarting a timer is cheaper than making a new one, and most timers never become due. */
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
    // A cleared timer cannot be refreshed.
    this.#timer = undefined;
  }
}

/** For environments that have only what pages have. */
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

/** Messages arrive sooner than timers, which pages delay. The channel is made at its first use. */
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
