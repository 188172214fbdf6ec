/**
 * Abort: AbortController and AbortSignal. Runs inside the guest.
 *
 * - Dependent signals (AbortSignal.any) are marked as aborted before any event fires, as the standard requires.
 */
import type { Event } from "./events.ts";
import { EventTarget, fireTrusted, installEvents, reportError, setSignalHook } from "./events.ts";
import { exposeClass, requireArguments } from "../expose.ts";
import { append, apply, at, DOMException, type List, list, primordial } from "../primordials.ts";

const { TypeError } = primordial;
const MAX_TIMEOUT_MS = 2 ** 53 - 1;

export type SetTimer = (callback: () => void, delayMs: number) => number;

let setTimer: SetTimer;
let isMaking = false;
/** A signal that aborts when one of these does. */
export let combineSignals: (signals: List<AbortSignal>) => AbortSignal;
let makeSignal: () => AbortSignal;
let abortSignal: (signal: AbortSignal, reason: unknown) => void;
/** The reason of a signal's abort. */
export let reasonOf: (signal: AbortSignal) => unknown;
export let isSignal: (value: unknown) => value is AbortSignal;
/** A signal that only `abortWith` aborts. */
export function createSignal(): AbortSignal {
  return makeSignal();
}

export function abortWith(signal: AbortSignal, reason: unknown): void {
  abortSignal(signal, reason);
}

export let isAborted: (signal: AbortSignal) => boolean;
/** Runs the action when the signal aborts; returns false if it has already aborted. */
export let onAbort: (signal: AbortSignal, action: () => void) => boolean;

export class AbortSignal extends EventTarget {
  #isAborted = false;
  #reason: unknown = undefined;
  #actions: List<() => void> = list();
  #onabort: unknown = null;
  #isListening = false;
  #isDependent = false;
  readonly #sources: List<AbortSignal> = list();
  readonly #dependents: List<AbortSignal> = list();

  static {
    combineSignals = (signals) => AbortSignal.#combine(signals);
    makeSignal = () => {
      isMaking = true;
      try {
        return new AbortSignal();
      } finally {
        isMaking = false;
      }
    };
    isSignal = (value): value is AbortSignal =>
      typeof value === "object" && value !== null && #isAborted in value;
    reasonOf = (signal) => signal.#reason;
    isAborted = (signal) => signal.#isAborted;
    onAbort = (signal, action) => {
      if (signal.#isAborted) return false;
      append(signal.#actions, action);
      return true;
    };
    abortSignal = (signal, reason) => {
      if (signal.#isAborted) return;
      mark(signal, reason);
      const marked = list<AbortSignal>();
      for (let i = 0; i < signal.#dependents.length; i += 1) {
        const dependent = at(signal.#dependents, i);
        if (dependent.#isAborted) continue;
        mark(dependent, signal.#reason);
        append(marked, dependent);
      }
      run(signal);
      for (let i = 0; i < marked.length; i += 1) run(at(marked, i));
    };
    function mark(signal: AbortSignal, reason: unknown): void {
      signal.#isAborted = true;
      signal.#reason =
        reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
    }
    function run(signal: AbortSignal): void {
      const actions = signal.#actions;
      signal.#actions = list();
      for (let i = 0; i < actions.length; i += 1) {
        try {
          at(actions, i)();
        } catch (error) {
          reportError(error);
        }
      }
      fireTrusted(signal, "abort");
    }
  }

  constructor() {
    if (!isMaking) throw new TypeError("Illegal constructor");
    isMaking = false;
    super();
  }

  static abort(reason: unknown = undefined): AbortSignal {
    const signal = makeSignal();
    abortSignal(signal, reason);
    return signal;
  }

  static timeout(delayMs: unknown): AbortSignal {
    requireArguments("make a timeout signal", arguments.length, 1);
    const delay = +(delayMs as number | string);
    if (!(delay >= 0 && delay <= MAX_TIMEOUT_MS)) {
      throw new TypeError("Cannot make a timeout signal: the delay is out of range");
    }
    const signal = makeSignal();
    setTimer(() => {
      abortSignal(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError"));
    }, delay);
    return signal;
  }

  static any(signals: Iterable<unknown>): AbortSignal {
    requireArguments("combine signals", arguments.length, 1);
    const given = list<AbortSignal>();
    for (const signal of signals) {
      if (!isSignal(signal)) throw new TypeError("Cannot combine signals: an item is not an AbortSignal");
      append(given, signal);
    }
    return combineSignals(given);
  }

  static #combine(given: List<AbortSignal>): AbortSignal {
    const result = makeSignal();
    for (let i = 0; i < given.length; i += 1) {
      const one = at(given, i);
      if (!one.#isAborted) continue;
      result.#isAborted = true;
      result.#reason = one.#reason;
      return result;
    }
    result.#isDependent = true;
    for (let i = 0; i < given.length; i += 1) {
      const one = at(given, i);
      if (!one.#isDependent) link(result, one);
      else for (let j = 0; j < one.#sources.length; j += 1) link(result, at(one.#sources, j));
    }
    return result;

    function link(dependent: AbortSignal, source: AbortSignal): void {
      for (let i = 0; i < dependent.#sources.length; i += 1) if (dependent.#sources[i] === source) return;
      append(dependent.#sources, source);
      append(source.#dependents, dependent);
    }
  }

  get aborted(): boolean {
    return this.#isAborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    // oxlint-disable-next-line typescript/only-throw-error -- the reason is the guest's
    if (this.#isAborted) throw this.#reason;
  }

  get onabort(): unknown {
    return this.#onabort;
  }

  set onabort(handler: unknown) {
    const isHandler = typeof handler === "function" || (typeof handler === "object" && handler !== null);
    this.#onabort = isHandler ? handler : null;
    if (this.#isListening || !isHandler) return;
    this.#isListening = true;
    listen(this, (event: Event) => {
      const current = this.#onabort;
      if (typeof current === "function") apply(current as () => unknown, this, [event]);
    });
  }
}

const { addEventListener } = EventTarget.prototype;
function listen(target: EventTarget, callback: (event: Event) => void): void {
  apply(addEventListener, target, ["abort", callback]);
}

class AbortController {
  readonly #signal: AbortSignal = makeSignal();

  get signal(): AbortSignal {
    return this.#signal;
  }

  abort(reason: unknown = undefined): void {
    abortSignal(this.#signal, reason);
  }
}

setSignalHook((signal, stop) => {
  if (!isSignal(signal)) throw new TypeError("Cannot listen: the signal is not an AbortSignal");
  return onAbort(signal, stop);
});

/** Timers come from the core, which owns the guest's clock. */
export function installAbort(timer: SetTimer): void {
  setTimer = timer;
  installEvents();
  exposeClass("AbortSignal", AbortSignal);
  exposeClass("AbortController", AbortController);
}
