/**
 * Core: connects the program to its host: calls, outcomes, timers, and the end of the program. Runs inside the guest.
 *
 * - All state lives in closures inside the guest's memory, so a copy of that memory is the whole run.
 * - No global can settle a call, read pending calls or reach these functions.
 * - Calls are numbered in the order of their creation. The worker counts them too, and the numbers must agree.
 */
import type { CallFailure } from "../../contract/failure.ts";
import { CATALOG_PROFILE_FLAGS, DETACHED, HOST, NO_CALL, SOURCE_FILE, THROWN } from "../abi.ts";
import { type Ask, type CallWatch, createCallWatch, errorStack } from "./calls/call-watch.ts";
import { startClock } from "./calls/clock.ts";
import { encode } from "./calls/encode.ts";
import { exposeGlobal } from "./expose.ts";
import { installFeatures } from "./features.ts";
import type { GuestCore } from "./guest-core.ts";
import { isOutOfMemory } from "./harden.ts";
import {
  apply,
  defineHidden,
  defineVisible,
  isArray,
  isError,
  jsonParse,
  mapDelete,
  mapForEach,
  mapSet,
  mapSize,
  ownData,
  primordial,
  queueMicrotask,
  record,
  stringIndexOf,
  stringSlice,
  symbolToString,
  weakMapGet,
  weakMapSet,
  withResolvers,
} from "./primordials.ts";
import { seedRandom } from "./calls/random.ts";
import { installTools } from "./calls/tools.ts";

export type HostFunction = (kind: number, ...args: (string | number)[]) => unknown;

interface OpenCall extends PromiseWithResolvers<unknown> {
  /** Made together with the call, so that its stack shows the line of the call. */
  readonly error: Error;
}

type TimerCallback = (...args: unknown[]) => unknown;

interface Timer {
  readonly callback: TimerCallback;
  readonly args: unknown[];
  readonly repeatMs: number | undefined;
}

export interface CoreFunctions {
  /** In the order of `GUEST` in ../abi.ts. */
  readonly functions: readonly unknown[];
  readonly setTimer: (callback: () => void, delayMs: number) => number;
}

const MAX_TIMER_MS = 2_147_483_647;
const MAX_TEXT = 8192;

export function createCore(host: HostFunction): CoreFunctions {
  let calls = 0;
  const pending = record<OpenCall | undefined>();
  const callErrors = new primordial.WeakMap<object, number>();
  const unhandled = new primordial.Map<object, unknown>();
  let timerCount = 0;
  const timers = record<Timer | undefined>();
  /** Set only if the program has to wait for its calls. */
  let watch: CallWatch | undefined;
  let hasReturned = false;
  /** The indices of calls that the program may give up, by their promises. */
  const abortable = new primordial.WeakMap<object, number>();
  /** The calls that the program has given up, by index. */
  const givenUp = record<true | undefined>();
  let hasGivenUp = false;

  function makeCall(tool: number | string, input: unknown, error: Error): Promise<unknown> {
    const call = withResolvers();
    try {
      const refusal = host(
        typeof tool === "number" ? HOST.call : HOST.callUnknown,
        tool,
        encode(input, "input"),
      );
      if (typeof refusal === "string") call.reject(toCallError(error, jsonParse(refusal)));
      else {
        const { promise, resolve, reject } = call;
        // Without a prototype: through a prototype a program could remove the error, and then pass for a program
        // without this call.
        pending[calls++] = { __proto__: null, promise, resolve, reject, error } as unknown as OpenCall;
        if (watch !== undefined) watch.watch(calls - 1, call.promise, error);
      }
    } catch (problem) {
      call.reject(problem);
    }
    return call.promise;
  }

  function standIn(call: Ask, make: (call: Ask) => Promise<unknown>): Promise<unknown> {
    let index = NO_CALL;
    const promise = make((input, error) => {
      const own = call(input, error);
      // Encoding the input may have made calls before this one, and this call may have been refused.
      if (pending[calls - 1]?.promise === own) index = calls - 1;
      return own;
    });
    const made = pending[index];
    if (made !== undefined) watch?.watch(index, promise, made.error);
    return promise;
  }

  function askAbortable(behind: number, input: unknown, error: Error): Promise<unknown> {
    const own = ask(behind, input, error);
    if (pending[calls - 1]?.promise === own) weakMapSet(abortable, own, calls - 1);
    return own;
  }

  function giveUp(call: Promise<unknown>): void {
    const index = weakMapGet(abortable, call);
    if (index === undefined) return;
    givenUp[index] = true;
    hasGivenUp = true;
  }

  /** The call, if it has neither ended nor been given up. */
  function awaited(index: number): OpenCall | undefined {
    return givenUp[index] === true ? undefined : pending[index];
  }

  function toCallError(error: Error, failure: CallFailure): Error {
    defineHidden(error, "name", failure.name);
    defineHidden(error, "message", failure.message);
    defineHidden(error, "stack", sourceFrames(error.stack ?? ""));
    defineVisible(error, "code", failure.shownCode ?? failure.code);
    if (failure.toolCode !== undefined) defineVisible(error, "toolCode", failure.toolCode);
    if (failure.details !== undefined) defineVisible(error, "details", jsonParse(failure.details));
    return error;
  }

  function resolveCall(index: number, output: string): void {
    const call = take(index);
    if (call !== undefined) call.resolve(jsonParse(output));
  }

  function rejectCall(index: number, failure: string): void {
    const call = take(index);
    if (call === undefined) return;
    const error = toCallError(call.error, jsonParse(failure));
    weakMapSet(callErrors, error, index);
    call.reject(error);
  }

  function take(index: number): OpenCall | undefined {
    const call = pending[index];
    delete pending[index];
    return call;
  }

  const tools = installTools(makeCall);
  let toolCount = 0;

  function ask(behind: number, input: unknown, error: Error): Promise<unknown> {
    return makeCall(toolCount + behind, input, error);
  }

  /** Writes the program's result as text. */
  let encodeResult: (value: unknown, what: string) => string = encode;

  const core: GuestCore = {
    ask,
    askAbortable,
    giveUp,
    callTool: makeCall,
    log: (level, text) => void host(HOST.log, level, text),
    addToTools: tools.addFunctions,
    encodeResultWith: (encoder) => {
      encodeResult = encoder;
    },
    watchCalls: () => {
      watch = createCallWatch();
    },
    standIn: () => (watch === undefined ? undefined : standIn),
  };

  function start(seed: string, toolNames: string, flags: number, ...texts: string[]): void {
    seedRandom(seed);
    startClock();
    const names = jsonParse(toolNames) as string[];
    toolCount = names.length;
    tools.addTools(names, (flags & CATALOG_PROFILE_FLAGS) !== 0);
    if (flags !== 0) installFeatures(core, flags, texts);
    tools.close();
  }

  async function conclude(program: Promise<unknown>): Promise<void> {
    let value: unknown;
    try {
      value = await program;
    } catch (error) {
      uncaught(error);
      return;
    }
    hasReturned = true;
    try {
      host(HOST.done, encodeResult(value, "the result"));
    } catch (error) {
      // A value that cannot cross may be the promise of a call. In that case report the detached call first.
      if (watch !== undefined && !isOutOfMemory(error)) reportDetached(watch);
      report(HOST.thrown, error, THROWN.badResult);
    }
  }

  function uncaught(error: unknown): void {
    report(HOST.thrown, error, THROWN.value);
  }

  /**
   * Reports an arbitrary thrown value. If one of its getters throws, the reading stops but the report is still sent.
   */
  function report(kind: number, thrown: unknown, origin: number): void {
    const value = firstOf(thrown);
    if (isOutOfMemory(value)) {
      host(kind, THROWN.outOfMemory, NO_CALL, "InternalError", "out of memory", "");
      return;
    }
    const isObject = typeof value === "object" && value !== null;
    const call = isObject ? (weakMapGet(callErrors, value) ?? NO_CALL) : NO_CALL;
    let name = "";
    let message = "The program threw a value that cannot be read";
    let stack = "";
    try {
      if (isError(value)) {
        name = bounded(value.name);
        message = bounded(value.message);
        stack = bounded(value.stack);
      } else message = thrownText(value);
    } catch {
      // Report what was read so far.
    }
    host(kind, origin, call, name, message, stack);
  }

  /** The error of Promise.any says nothing by itself, so its first inner error is reported instead. */
  function firstOf(thrown: unknown): unknown {
    try {
      if (!isError(thrown) || (ownData(thrown, "message") ?? "") !== "") return thrown;
      const errors = ownData(thrown, "errors");
      const first = isArray(errors) ? ownData(errors, 0) : undefined;
      return isError(first) ? first : thrown;
    } catch {
      return thrown;
    }
  }

  function thrownText(value: unknown): string {
    if (typeof value === "object" && value !== null) return bounded(encode(value, "value"));
    return typeof value === "symbol" ? bounded(symbolToString(value)) : bounded(`${value as string}`);
  }

  function track(promise: object, reason: unknown, isHandled: number): void {
    if (isHandled) mapDelete(unhandled, promise);
    else mapSet(unhandled, promise, reason);
  }

  function finish(): void {
    if (mapSize(unhandled) > 0) reportUnhandled();
    // After the rejections, because reading an error may run code of the program, which may make a call.
    if (watch !== undefined && hasReturned) reportDetached(watch);
    if (hasReturned && hasGivenUp && !isWaiting()) host(HOST.over);
  }

  function isWaiting(): boolean {
    for (let index = 0; index < calls; index++) if (awaited(index) !== undefined) return true;
    return false;
  }

  function reportUnhandled(): void {
    let first = true;
    mapForEach(unhandled, (reason) => {
      if (first) report(HOST.unhandled, reason, THROWN.value);
      first = false;
    });
  }

  /** Reports the first call that the program has not waited for. */
  function reportDetached({ unobserved }: CallWatch): void {
    for (let index = 0; index < calls; index++) {
      const unseen = unobserved[index];
      const error = unseen ?? awaited(index)?.error;
      if (error !== undefined) {
        const state = unseen === undefined ? DETACHED.pending : DETACHED.unawaited;
        host(HOST.detached, index, state, bounded(errorStack(error)));
        return;
      }
    }
  }

  function addTimer(callback: unknown, ms: unknown, args: unknown[], repeats: boolean): number {
    const task = toCallback(callback, "set a timer");
    const wanted = +(ms as number);
    const delay = wanted >= 1 && wanted <= MAX_TIMER_MS ? wanted - (wanted % 1) : repeats ? 1 : 0;
    const id = ++timerCount;
    timers[id] = {
      __proto__: null,
      callback: task,
      args,
      repeatMs: repeats ? delay : undefined,
    } as unknown as Timer;
    schedule(id, delay);
    return id;
  }

  function schedule(id: number, delay: number): void {
    const refusal = host(HOST.timerSet, id, delay);
    if (typeof refusal !== "string") return;
    delete timers[id];
    throw new primordial.RangeError(refusal);
  }

  function fire(id: number): void {
    const timer = timers[id];
    if (timer === undefined) return;
    if (timer.repeatMs === undefined) delete timers[id];
    else schedule(id, timer.repeatMs);
    guarded(timer.callback, timer.args);
  }

  function guarded(callback: TimerCallback, args: unknown[]): void {
    try {
      apply(callback, undefined, args);
    } catch (error) {
      uncaught(error);
    }
  }

  function clearTimer(id?: unknown): void {
    const key = +(id as number);
    if (timers[key] === undefined) return;
    delete timers[key];
    host(HOST.timerClear, key);
  }

  const globals = {
    setTimeout(callback: unknown, ms?: unknown, ...args: unknown[]): number {
      return addTimer(callback, ms, args, false);
    },
    setInterval(callback: unknown, ms?: unknown, ...args: unknown[]): number {
      return addTimer(callback, ms, args, true);
    },
    clearTimeout: clearTimer,
    clearInterval: clearTimer,
    queueMicrotask(callback: unknown): void {
      const task = toCallback(callback, "queue a microtask");
      queueMicrotask(() => guarded(task, []));
    },
  };
  for (const [name, value] of Object.entries(globals)) exposeGlobal(name, value);

  return {
    functions: [start, resolveCall, rejectCall, fire, track, finish, uncaught, conclude],
    setTimer: (callback, delayMs) => addTimer(callback, delayMs, [], false),
  };
}

function toCallback(value: unknown, purpose: string): TimerCallback {
  if (typeof value === "function") return value as TimerCallback;
  throw new primordial.TypeError(`Cannot ${purpose}: the callback is not a function`);
}

/** The lines of a stack that lie in the program; the other lines are our own. */
function sourceFrames(stack: string): string {
  let frames = "";
  let start = 0;
  for (let end = stringIndexOf(stack, "\n"); end !== -1; end = stringIndexOf(stack, "\n", start)) {
    const line = stringSlice(stack, start, end + 1);
    if (stringIndexOf(line, `(${SOURCE_FILE}:`) !== -1) frames += line;
    start = end + 1;
  }
  return frames;
}

function bounded(text: unknown): string {
  return typeof text === "string" ? stringSlice(text, 0, MAX_TEXT) : "";
}
