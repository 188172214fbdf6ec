/**
 * Measures how long work holds its thread, in processor time of that thread, never by the clock.
 *
 * - The largest turn of the event loop counts, not the sum: work in several turns lets others go on in between.
 * - The shortest of several attempts counts: what a neighbour, the compiler or the garbage collector adds is no
 *   property of the work.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { threadCpuUs } from "../processor-time.ts";
import { everyTurn } from "./every-turn.ts";

/** The work to measure, or a promise of it if its input is made asynchronously, which is not measured. */
export type Prepared = (() => unknown) | Promise<() => unknown>;

/**
 * The longest time that the work holds the thread in one turn. The work is made anew for each attempt; attempts end
 * once one takes less than `enough`.
 */
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
  let before = used();
  const look = (): void => {
    const now = used();
    // On Node 22 the time of the thread is told a few milliseconds late; that of the process is never less.
    largest = Math.max(largest, Math.min(now.threadMs - before.threadMs, now.processMs - before.processMs));
    before = now;
  };
  const end = everyTurn(look);
  try {
    // The outcome of the work does not matter here.
    const settled = Promise.allSettled([work()]);
    look();
    await settled;
    await nextTurn();
    look();
  } finally {
    end();
  }
  return largest;
}

function used(): { readonly threadMs: number; readonly processMs: number } {
  const { user, system } = process.cpuUsage();
  return { threadMs: threadCpuUs() / 1000, processMs: (user + system) / 1000 };
}
