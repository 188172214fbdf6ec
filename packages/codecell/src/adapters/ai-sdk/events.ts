/** Runs on the host. Events: what a host can watch of an invocation, as plain data, and the hooks that get it. */
import { isThenable } from "../../loop/when-known.ts";
import type { LogLevel } from "../../contract/result.ts";
import type { CodeModeInterrupt } from "./interrupt.ts";

/** An error as traces keep it. */
export interface CodeModeTraceError {
  name: string;
  message: string;
  stack?: string;
  code?: string;
  /** JSON. Of long details, the beginning of their text. */
  details?: unknown;
}

interface TraceEntryCommon {
  /** Counted from 1, in the order in which the program made its calls. */
  bridgeIndex: number;
  replayed: boolean;
  startedAtMs: number;
  completedAtMs: number;
  durationMs: number;
  inputBytes: number;
  outputBytes?: number;
  error?: CodeModeTraceError;
}

export interface CodeModeToolTraceEntry extends TraceEntryCommon {
  kind: "tool";
  toolName: string;
  toolCallId: string;
  status: "fulfilled" | "rejected" | "interrupted";
  interruptType?: CodeModeInterrupt["type"];
}

export interface CodeModeFetchTraceEntry extends TraceEntryCommon {
  kind: "fetch";
  url: string;
  method: string;
  status: "fulfilled" | "rejected";
}

/** One call of a program. A trace lists calls in the order in which they ended. */
export type CodeModeTraceEntry = CodeModeToolTraceEntry | CodeModeFetchTraceEntry;

export interface CodeModeTrace {
  invocationId: string;
  outerToolCallId: string;
  status: "completed" | "failed" | "interrupted";
  startedAtMs: number;
  completedAtMs: number;
  durationMs: number;
  bridgeRequests: CodeModeTraceEntry[];
  /** How many log lines the program printed, including lines that did not fit. */
  consoleLines: number;
  interruptedBy?: CodeModeInterrupt["type"];
  error?: CodeModeTraceError;
}

interface EventCommon {
  invocationId: string;
  outerToolCallId: string;
}

export interface CodeModeNestedToolCallEvent extends EventCommon {
  bridgeIndex: number;
  toolName: string;
  input: unknown;
  inputBytes: number;
  toolCallId: string;
  replayed: boolean;
  startedAtMs: number;
}

interface Ended {
  completedAtMs: number;
  durationMs: number;
}

export type CodeModeNestedToolResultEvent = CodeModeNestedToolCallEvent &
  Ended &
  (
    | { status: "fulfilled"; outputBytes: number; output: unknown }
    | { status: "rejected"; error: unknown }
    | { status: "interrupted"; interrupt: CodeModeInterrupt }
  );

export interface CodeModeFetchRequestEvent extends EventCommon {
  bridgeIndex: number;
  url: string;
  method: string;
  inputBytes: number;
  replayed: boolean;
  startedAtMs: number;
}

export type CodeModeFetchResultEvent = CodeModeFetchRequestEvent &
  Ended &
  ({ status: "fulfilled"; outputBytes: number } | { status: "rejected"; error: unknown });

export interface CodeModeInterruptEvent extends EventCommon {
  interrupt: CodeModeInterrupt;
}

/** A line the program printed. */
export interface CodeModeConsoleEvent extends EventCommon {
  level: LogLevel;
  text: string;
}

interface HookEvents {
  onNestedToolCall: CodeModeNestedToolCallEvent;
  onNestedToolResult: CodeModeNestedToolResultEvent;
  onFetchRequest: CodeModeFetchRequestEvent;
  onFetchResult: CodeModeFetchResultEvent;
  onConsole: CodeModeConsoleEvent;
  onInterrupt: CodeModeInterruptEvent;
  onTrace: CodeModeTrace;
}

export type HookName = keyof HookEvents;

/** A hook threw or rejected. */
export interface CodeModeLifecycleHookErrorEvent {
  hook: HookName;
  event: HookEvents[HookName];
}

/** Hooks. Whatever a hook does, the program does not notice. */
export type CodeModeLifecycle = {
  [Name in HookName]?: (event: HookEvents[Name]) => void | Promise<void>;
} & {
  onHookError?: (error: unknown, event: CodeModeLifecycleHookErrorEvent) => void | Promise<void>;
};

/** How long a hook may keep a program waiting: a hook that never settles must not hold the program for ever. */
const PATIENCE_MS = 10_000;

export class Hooks {
  readonly #lifecycle: CodeModeLifecycle;
  /** Hooks that did not settle in time. They are still called, and no longer waited for. */
  readonly #late = new Set<keyof CodeModeLifecycle>();

  constructor(lifecycle: CodeModeLifecycle = {}) {
    this.#lifecycle = lifecycle;
  }

  has(...names: readonly HookName[]): boolean {
    return names.some((name) => this.#lifecycle[name] !== undefined);
  }

  async call<Name extends HookName>(hook: Name, event: HookEvents[Name]): Promise<void> {
    const report = (error: unknown): Promise<void> => this.#report(error, { hook, event });
    try {
      const tell = this.#lifecycle[hook] as ((event: HookEvents[Name]) => unknown) | undefined;
      await this.#settled(hook, tell?.(event), report);
    } catch (error) {
      await report(error);
    }
  }

  async #report(error: unknown, event: CodeModeLifecycleHookErrorEvent): Promise<void> {
    try {
      await this.#settled("onHookError", this.#lifecycle.onHookError?.(error, event), forget);
    } catch {
      forget();
    }
  }

  /** If the hook is not waited for, `onLate` gets its later failure. */
  async #settled(
    hook: keyof CodeModeLifecycle,
    told: unknown,
    onLate: (error: unknown) => unknown,
  ): Promise<void> {
    if (!isThenable(told)) return;
    const settled = Promise.resolve(told);
    if (this.#late.has(hook)) {
      settled.catch(onLate);
      return;
    }
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      this.#late.add(hook);
      reject(
        new Error(`Hook ${hook} has not settled after ${PATIENCE_MS} ms: it is not waited for any longer`),
      );
    }, PATIENCE_MS);
    try {
      await Promise.race([settled, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** For failures that nobody is left to hear of. */
function forget(): void {}
