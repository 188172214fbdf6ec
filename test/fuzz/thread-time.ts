/**
 * Thread time: how long work holds the thread it is done on, in processor time of that thread, never by the clock.
 *
 * - The largest turn of the event loop counts, not the sum: work that is done in pieces lets others go on between them.
 * - The least of several attempts counts: what a neighbour, the compiler or the garbage collector adds is no property of
 *   the work.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Processor time of this thread in milliseconds. */
function threadTimeMs(): number {
  const usage: Partial<Pick<NodeJS.Process, "threadCpuUsage">> & Pick<NodeJS.Process, "cpuUsage"> = process;
  // Node 22 knows the time of the whole process alone, which is more.
  const { user, system } = usage.threadCpuUsage?.() ?? usage.cpuUsage();
  return (user + system) / 1000;
}

/** What is measured; a promise of it where what it works on is not made at once, of which nothing is measured. */
export type Prepared = (() => unknown) | Promise<() => unknown>;

/** The longest that the work, made anew for each attempt, holds the thread at a time; attempts end once it is less than `enough`. */
export async function largestTurnMs(
  prepare: () => Prepared,
  { attempts, enough }: { readonly attempts: number; readonly enough: number },
): Promise<number> {
  let least = Infinity;
  for (let attempt = 0; attempt < attempts && least >= enough; attempt++) {
    least = Math.min(least, await attemptOnce(await prepare()));
  }
  return least;
}

async function attemptOnce(work: () => unknown): Promise<number> {
  await nextTurn();
  let largest = 0;
  let before = threadTimeMs();
  const look = (): void => {
    const now = threadTimeMs();
    largest = Math.max(largest, now - before);
    before = now;
  };
  const state = { isDone: false };
  const end = (): void => {
    state.isDone = true;
  };
  // What it comes to is not looked at here.
  Promise.resolve(work()).then(end, end);
  look();
  while (!state.isDone) {
    await nextTurn();
    look();
  }
  return largest;
}
