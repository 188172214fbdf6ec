/**
 * Turn: keeps the host's event loop moving while many large values are parsed and printed.
 *
 * Before each piece of such work: `while (isTurnLong()) await nextTurn();`
 */
const LONG_TURN_MS = 8;

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
  if (waiting.length === 0) setImmediate(release);
  return new Promise((resolve) => {
    waiting.push(resolve);
  });
}

function release(): void {
  beginTurn();
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(release);
}
