/**
 * Turn: keeps the event loop responsive while many large values are parsed and printed. Runs anywhere.
 *
 * - Call `while (isTurnLong()) await nextTurn();` before each piece of long work.
 * - Work that runs at once when it is small, and in turns when it is large, is a generator (`Steps`) that yields
 *   between two pieces.
 */
export type Steps<T> = Generator<void, T, void>;

const LONG_TURN_MS = 8;

/** Browsers have no `setImmediate`. */
const soon: (act: () => void) => unknown =
  typeof setImmediate === "function" ? setImmediate : (act) => setTimeout(act);

/** When the present turn began, as far as we know. An outdated value only costs the next caller one extra turn. */
let startedAt = 0;
const waiting: (() => void)[] = [];

/** Marks the start of a turn of the event loop. */
export function beginTurn(): void {
  startedAt = performance.now();
}

/** Whether the present turn of the event loop has already lasted long. */
export function isTurnLong(): boolean {
  return performance.now() - startedAt > LONG_TURN_MS;
}

/** Resolves in a later turn. Each turn releases one waiter, because each waiter may use up its turn. */
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

/** Does the work in as many turns as it needs. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    while (isTurnLong()) await nextTurn();
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Does the work in one go; for work that is known to be small. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
