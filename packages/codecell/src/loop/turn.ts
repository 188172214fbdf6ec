/**
 * Turn: keeps the host's event loop moving while many large values are parsed and printed.
 *
 * - Before each piece of such work: `while (isTurnLong()) await nextTurn();`
 * - Work that is also done at once, where it is small, is written as steps, and yields between two pieces.
 */
export type Steps<T> = Generator<void, T, void>;

const LONG_TURN_MS = 8;

/** Browsers have timers only. */
const soon: (act: () => void) => unknown =
  typeof setImmediate === "function" ? setImmediate : (act) => setTimeout(act);

/** When the present turn began, as far as we know: an old value only costs the next call one extra turn. */
let startedAt = 0;
const waiting: (() => void)[] = [];

/** Called at the start of a turn of the event loop. */
export function beginTurn(): void {
  startedAt = performance.now();
}

/** Whether the present turn of the event loop has already done much. */
export function isTurnLong(): boolean {
  return performance.now() - startedAt > LONG_TURN_MS;
}

/** One waiter goes on in each turn: each may use it up. */
export function nextTurn(): Promise<void> {
  if (waiting.length === 0) soon(release);
  return new Promise((resolve) => {
    waiting.push(resolve);
  });
}

function release(): void {
  beginTurn();
  waiting.shift()?.();
  if (waiting.length > 0) soon(release);
}

/** Does work a turn after the other. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    while (isTurnLong()) await nextTurn();
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Does work that is known to be small. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
