/** Waiting: for some time, or for a promise but not for ever. Runs anywhere. */

/** Timers cannot be set for longer. */
export const LONGEST_MS = 2_147_483_647;

/** Waits; a process that has nothing else to do need not wait with it. */
export function pause(ms: number, keepsProcess = true): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    if (!keepsProcess) letGo(timer);
  });
}

/** Waits for a promise that does not reject, but not for ever. */
export async function within(ms: number, done: Promise<unknown>, keepsProcess = true): Promise<void> {
  const patience = Promise.withResolvers<void>();
  const timer = setTimeout(patience.resolve, ms);
  if (!keepsProcess) letGo(timer);
  await Promise.race([done, patience.promise]);
  clearTimeout(timer);
}

/** Timers of a page are numbers, and keep nothing. */
function letGo(timer: { unref?: () => void } | number): void {
  if (typeof timer === "object") timer.unref?.();
}
