/**
 * Acts in every turn of the event loop until it is ended, and makes no turns of its own: what is measured may wait for
 * long, and would find a core less.
 */
const LONG_MS = 1_000_000_000;

export function everyTurn(act: () => void): () => void {
  const again = (): void => {
    act();
    next = setImmediate(again).unref();
  };
  let next = setImmediate(again).unref();
  // What is waited for need not keep the process alive.
  const alive = setInterval(() => {}, LONG_MS);
  return () => {
    clearImmediate(next);
    clearInterval(alive);
  };
}
