/** Waiting: for a time, or for a promise within a time. Runs anywhere. */

/** The longest delay of a timer. */
export const LONGEST_MS = 2_147_483_647;

/** Waits. With `keepsProcess` false, the timer does not keep the process alive. */
export function pause(ms: number, keepsProcess = true): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    if (!keepsProcess) letGo(timer);
  });
}

/** Waits until the promise resolves, at most `ms`. The promise must not reject. */
export async function within(ms: number, done: Promise<unknown>, keepsProcess = true): Promise<void> {
  const patience = Promise.withResolvers<void>();
  const timer = setTimeout(patience.resolve, ms);
  if (!keepsProcess) letGo(timer);
  await Promise.race([done, patience.promise]);
  clearTimeout(timer);
}

/** In a page, timers are numbers and keep no process alive. */
function letGo(timer: { unref?: () => void } | number): void {
  if (typeof timer === "object") timer.unref?.();
}
