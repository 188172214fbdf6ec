/**
 * Runs anywhere. A host error is what went wrong in the host's own code, for the host only.
 *
 * - No part of it crosses to a program or a model, or gets into a ledger, a token or a store.
 * - An error in the listener fails nothing else.
 */
import type { HostServedFeature } from "./features.ts";

/**
 * Where an error came from: a tool's `execute`; one of its schemas; the policy (`authorize`, hooks and approvals of
 * adapters, `decide` of middleware); `end` of middleware; `mapCallFailure`; `onEvent`; the fetch of a fetch policy; the sandbox;
 * the store; or this library: a bug, or the outcome of a suspended run's call that it could not keep.
 */
export type HostErrorSource =
  | "tool"
  | "schema"
  | "authorize"
  | "middleware"
  | "mapCallFailure"
  | "onEvent"
  | HostServedFeature
  | "sandbox"
  | "store"
  | "internal";

export interface HostError {
  /** What was thrown, with its stack and cause. */
  readonly error: unknown;
  readonly source: HostErrorSource;
  /** For a tool that the model calls directly: the call's id, or an empty text if the id is not known yet. */
  readonly runId: string;
  readonly callId?: string;
  readonly tool?: string;
}

export type OnError = (report: HostError) => void;

export function tellError(onError: OnError | undefined, report: HostError): void {
  try {
    const told: unknown = onError?.(report);
    // A listener that is asynchronous and fails must not end the process.
    if (told instanceof Promise) told.catch(() => undefined);
  } catch {
    // An error of the listener is the listener's own matter.
  }
}

/** Adds a cause that copies, clones and texts of the object do not have. */
export function withCause<T extends object>(target: T, cause: unknown): T {
  if (cause === undefined) return target;
  return Object.defineProperty(target, "cause", { value: cause, enumerable: false, configurable: true });
}

/** What was thrown and makes a run fail. */
export interface Thrown {
  readonly source: "sandbox" | "store" | "internal";
  readonly cause: unknown;
}

/** Who is told what goes wrong in one run. */
export interface ErrorListener {
  tell(report: Omit<HostError, "runId">): void;
  /** Told before the run fails for this reason. */
  end(thrown: Thrown): void;
}
