/** Events: what a host can watch of an invocation, as plain data. */
import type { LogLevel } from "../../contract/result.ts";
import type { CodeModeInterrupt } from "./interrupt.ts";

/** An error as traces keep it. */
export interface CodeModeTraceError {
  name: string;
  message: string;
  stack?: string;
  code?: string;
  details?: unknown;
}

interface TraceEntryCommon {
  /** Counted from 1, in the order the program made its calls. */
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

/** One call of a program, in the order they ended. */
export type CodeModeTraceEntry = CodeModeToolTraceEntry | CodeModeFetchTraceEntry;

export interface CodeModeTrace {
  invocationId: string;
  outerToolCallId: string;
  status: "completed" | "failed" | "interrupted";
  startedAtMs: number;
  completedAtMs: number;
  durationMs: number;
  bridgeRequests: CodeModeTraceEntry[];
  /** Log lines the program printed, those that did not fit included. */
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
export type HookEvent<Name extends HookName> = HookEvents[Name];

/** A hook threw or rejected. */
export interface CodeModeLifecycleHookErrorEvent {
  hook: HookName;
  event: HookEvents[HookName];
}

/** Whatever a hook does, the program does not notice. */
export type CodeModeLifecycle = {
  [Name in HookName]?: (event: HookEvents[Name]) => void | Promise<void>;
} & {
  onHookError?: (error: unknown, event: CodeModeLifecycleHookErrorEvent) => void | Promise<void>;
};

/** How long a program may be kept waiting by a hook: one that never settles must not hold it for ever. */
const PATIENCE_MS = 10_000;

async function inTime(hook: keyof CodeModeLifecycle, told: Promise<unknown>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const problem = `Hook ${hook} has not settled after ${PATIENCE_MS} ms: it is not waited for any longer`;
  const timer = setTimeout(() => reject(new Error(problem)), PATIENCE_MS);
  try {
    await Promise.race([told, late]);
  } finally {
    clearTimeout(timer);
  }
}

export class Hooks {
  readonly #lifecycle: CodeModeLifecycle;

  constructor(lifecycle: CodeModeLifecycle = {}) {
    this.#lifecycle = lifecycle;
  }

  has(...names: readonly HookName[]): boolean {
    return names.some((name) => this.#lifecycle[name] !== undefined);
  }

  async call<Name extends HookName>(hook: Name, event: HookEvents[Name]): Promise<void> {
    try {
      const tell = this.#lifecycle[hook] as ((event: HookEvents[Name]) => unknown) | undefined;
      const told = tell?.(event);
      if (told instanceof Promise) await inTime(hook, told);
    } catch (error) {
      await this.#report(error, { hook, event });
    }
  }

  async #report(error: unknown, event: CodeModeLifecycleHookErrorEvent): Promise<void> {
    try {
      const told = this.#lifecycle.onHookError?.(error, event);
      if (told instanceof Promise) await inTime("onHookError", told);
    } catch {
      // Nobody is left to tell.
    }
  }
}
