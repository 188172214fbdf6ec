/**
 * Events: Event and EventTarget without a tree: an event has no path but its target. Runs inside the guest.
 *
 * - If a listener throws, the other listeners still run, and the error becomes an unhandled rejection.
 */
import { exposeClass, requireArguments } from "../expose.ts";
import { append, apply, at, dateNow, DOMException, type List, list, primordial } from "../primordials.ts";
import { toText } from "./webidl.ts";

const { Promise, TypeError } = primordial;

type Callback = ((event: Event) => unknown) | { readonly handleEvent?: unknown };
type Listener = {
  readonly type: string;
  readonly callback: Callback;
  readonly capture: boolean;
  readonly once: boolean;
  readonly passive: boolean;
  isRemoved: boolean;
};
type EventInit = { readonly bubbles?: unknown; readonly cancelable?: unknown; readonly composed?: unknown };

let dispatchOn: (event: Event, target: EventTarget, listeners: List<Listener>, isTrusted: boolean) => boolean;
let isDispatching: (event: Event) => boolean;

export class Event {
  readonly #type: string;
  readonly #bubbles: boolean;
  readonly #cancelable: boolean;
  readonly #composed: boolean;
  readonly #timeStamp: number = dateNow();
  #target: EventTarget | null = null;
  #isDispatching = false;
  #isTrusted = false;
  #isStopped = false;
  #isPropagationStopped = false;
  #isPrevented = false;
  #isPassive = false;

  static {
    isDispatching = (event) => event.#isDispatching;
    dispatchOn = (event, target, listeners, isTrusted) => {
      event.#isDispatching = true;
      event.#isTrusted = isTrusted;
      event.#target = target;
      const count = listeners.length;
      const current = list<Listener>();
      for (let i = 0; i < count; i += 1) append(current, at(listeners, i));
      for (let i = 0; i < count && !event.#isStopped; i += 1) {
        const listener = at(current, i);
        if (listener.isRemoved || listener.type !== event.#type) continue;
        if (listener.once) removeListener(listeners, listener);
        event.#isPassive = listener.passive;
        invoke(listener.callback, target, event);
        event.#isPassive = false;
      }
      event.#isDispatching = false;
      event.#isStopped = false;
      event.#isPropagationStopped = false;
      return !event.#isPrevented;
    };
  }

  constructor(type: unknown, init: EventInit | null | undefined = undefined) {
    requireArguments("make an Event", arguments.length, 1);
    this.#type = toText(type);
    this.#bubbles = !!init?.bubbles;
    this.#cancelable = !!init?.cancelable;
    this.#composed = !!init?.composed;
  }

  get type(): string {
    return this.#type;
  }

  get target(): EventTarget | null {
    return this.#target;
  }

  get srcElement(): EventTarget | null {
    return this.#target;
  }

  get currentTarget(): EventTarget | null {
    return this.#isDispatching ? this.#target : null;
  }

  get eventPhase(): number {
    return this.#isDispatching ? 2 : 0;
  }

  get bubbles(): boolean {
    return this.#bubbles;
  }

  get cancelable(): boolean {
    return this.#cancelable;
  }

  get composed(): boolean {
    return this.#composed;
  }

  get defaultPrevented(): boolean {
    return this.#isPrevented;
  }

  get isTrusted(): boolean {
    return this.#isTrusted;
  }

  get timeStamp(): number {
    return this.#timeStamp;
  }

  get cancelBubble(): boolean {
    return this.#isPropagationStopped;
  }

  set cancelBubble(value: unknown) {
    if (value) this.#isPropagationStopped = true;
  }

  composedPath(): EventTarget[] {
    return this.#isDispatching && this.#target !== null ? [this.#target] : [];
  }

  preventDefault(): void {
    if (this.#cancelable && !this.#isPassive) this.#isPrevented = true;
  }

  stopPropagation(): void {
    this.#isPropagationStopped = true;
  }

  stopImmediatePropagation(): void {
    this.#isPropagationStopped = true;
    this.#isStopped = true;
  }
}

function removeListener(listeners: List<Listener>, listener: Listener): void {
  let kept = 0;
  for (let i = 0; i < listeners.length; i += 1) {
    const one = at(listeners, i);
    if (one === listener) one.isRemoved = true;
    else {
      listeners[kept] = one;
      kept += 1;
    }
  }
  listeners.length = kept;
}

export function reportError(error: unknown): void {
  void new Promise((_resolve, reject) => {
    reject(error);
  });
}

function invoke(callback: Callback, target: EventTarget, event: Event): void {
  try {
    if (typeof callback === "function") apply(callback, target, [event]);
    else apply(callback.handleEvent as (event: Event) => unknown, callback, [event]);
  } catch (error) {
    reportError(error);
  }
}

type ListenerOptions =
  | boolean
  | {
      readonly capture?: unknown;
      readonly once?: unknown;
      readonly passive?: unknown;
      readonly signal?: unknown;
    }
  | null
  | undefined;

function isCapture(options: ListenerOptions): boolean {
  return typeof options === "object" && options !== null ? !!options.capture : !!options;
}

function isCallback(callback: unknown): callback is Callback {
  if (typeof callback === "function" || (typeof callback === "object" && callback !== null)) return true;
  if (callback === null || callback === undefined) return false;
  throw new TypeError("Cannot use the listener: it is neither a function nor an object");
}

/** Set by abort.ts: calls `stop` when the signal aborts; returns false if it has already aborted. */
type SignalHook = (signal: unknown, stop: () => void) => boolean;
let onSignalAbort: SignalHook = () => true;

export function setSignalHook(hook: SignalHook): void {
  onSignalAbort = hook;
}

/** Dispatches an event of our own; guest code cannot fake a trusted event. */
export let fireTrusted: (target: EventTarget, type: string) => void;

export class EventTarget {
  readonly #listeners: List<Listener> = list();

  static {
    fireTrusted = (target, type) => {
      dispatchOn(new Event(type), target, target.#listeners, true);
    };
  }

  addEventListener(type: unknown, callback: unknown, options: ListenerOptions = undefined): void {
    requireArguments("add a listener", arguments.length, 2);
    const listeners = this.#listeners;
    const name = toText(type);
    const capture = isCapture(options);
    const details = typeof options === "object" && options !== null ? options : undefined;
    const once = !!details?.once;
    const passive = !!details?.passive;
    const signal = details?.signal;
    if (!isCallback(callback)) return;
    if (findListener(listeners, name, callback, capture) !== undefined) return;
    const listener: Listener = { type: name, callback, capture, once, passive, isRemoved: false };
    if (signal !== undefined && !onSignalAbort(signal, () => removeListener(listeners, listener))) return;
    append(listeners, listener);
  }

  removeEventListener(type: unknown, callback: unknown, options: ListenerOptions = undefined): void {
    requireArguments("remove a listener", arguments.length, 2);
    const listeners = this.#listeners;
    if (!isCallback(callback)) return;
    const listener = findListener(listeners, toText(type), callback, isCapture(options));
    if (listener !== undefined) removeListener(listeners, listener);
  }

  dispatchEvent(event: Event): boolean {
    requireArguments("dispatch", arguments.length, 1);
    const listeners = this.#listeners;
    if (isDispatching(event)) {
      throw new DOMException("The event is already being dispatched", "InvalidStateError");
    }
    return dispatchOn(event, this, listeners, false);
  }
}

function findListener(
  listeners: List<Listener>,
  type: string,
  callback: Callback,
  capture: boolean,
): Listener | undefined {
  for (let i = 0; i < listeners.length; i += 1) {
    const one = at(listeners, i);
    if (one.callback === callback && one.capture === capture && one.type === type) return one;
  }
  return undefined;
}

export function installEvents(): void {
  exposeClass("Event", Event);
  exposeClass("EventTarget", EventTarget);
}
