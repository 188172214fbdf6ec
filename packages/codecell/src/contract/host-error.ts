/**
 * Host error: what went wrong in the host's own code, for the host alone.
 *
 * - Of all this nothing crosses: neither to a program or a model, nor into a ledger, a token or a store.
 * - Whoever listens cannot fail what is told of.
 */
import type { HostServedFeature } from "./features.ts";

/**
 * Where an error came from: a tool's `execute`, one of its schemas, the policy (`authorize`, and the hooks and approvals of
 * adapters and the `decide` of middleware), the `end` of middleware, `mapCallFailure`, `onEvent`, the fetch of a fetch policy, the sandbox, the store, or this library where it was not to fail.
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
  /** As it was thrown, with its stack and cause. */
  readonly error: unknown;
  readonly source: HostErrorSource;
  /** Of a tool that the model calls by itself the call's id, or an empty text where that is not known yet. */
  readonly runId: string;
  readonly callId?: string;
  readonly tool?: string;
}

export type OnError = (report: HostError) => void;

export function tellError(onError: OnError | undefined, report: HostError): void {
  try {
    const told: unknown = onError?.(report);
    // One that is asynchronous must not take the process down when it fails.
    if (told instanceof Promise) told.catch(() => undefined);
  } catch {
    // Its own affair.
  }
}

/** The same object with a cause that no copy, clone or text of it has. */
export function withCause<T extends object>(target: T, cause: unknown): T {
  if (cause === undefined) return target;
  return Object.defineProperty(target, "cause", { value: cause, enumerable: false, configurable: true });
}

/** What makes a run fail, as it was thrown. */
export interface Thrown {
  readonly source: "sandbox" | "store" | "internal";
  readonly cause: unknown;
}
