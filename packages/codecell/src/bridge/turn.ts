/**
 * Turn: keeps the host's event loop moving while many large values are parsed and printed.
 *
 * Before each piece of such work: `while (isTurnLong()) await nextTurn();`
 */
const LONG_TURN_MS = 8;

/** When the first work of this turn of the event loop began; 0 before it. */
let startedAt = 0;

/** Whether the present turn of the event loop has already done much. */
export function isTurnLong(): boolean {
  const now = performance.now();
  if (startedAt === 0) {
    startedAt = now;
    setImmediate(() => {
      startedAt = 0;
    });
  }
  return now - startedAt > LONG_TURN_MS;
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
