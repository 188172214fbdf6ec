/** Runs on the host. Says how a host deals with a store that cannot be reached at the moment. */
import { StoreError } from "../contract/store.ts";
import { pause } from "../loop/wait.ts";

/** Leases are renewed this often within their time, so that one missed renewal does not lose them. */
export const RENEWALS = 3;

/** How long to wait between attempts. */
const RETRY_MS = [20, 100, 500, 2000] as const;

/**
 * Tries again while the store says that nothing was changed and that trying again may help: a few times, or as often as
 * it takes.
 */
export async function persistently<T>(
  work: () => Promise<T>,
  patience: "short" | "endless" = "short",
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const waitMs = RETRY_MS[patience === "short" ? attempt : Math.min(attempt, RETRY_MS.length - 1)];
      if (!isUnavailable(error) || waitMs === undefined) throw error;
      await pause(waitMs);
    }
  }
}

export function isUnavailable(error: unknown): boolean {
  return StoreError.is(error) && error.code === "unavailable";
}
