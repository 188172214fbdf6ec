/**
 * Goes on at once where a value is there already, and waits only for a promise. Runs anywhere.
 *
 * - A program may make very many calls, and most questions about a call are answered at once: a promise for each answer
 *   would cost more than the answer.
 */

/** Gives `next` the value, at once if that is no promise. Throws or rejects with what `next` throws. */
export function whenKnown<T, U>(value: T | Promise<T>, next: (value: T) => U | Promise<U>): U | Promise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** A promise of another realm or library is not an instance of our Promise, and must be waited for too. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === "object" && value !== null) || typeof value === "function") &&
    typeof (value as { readonly then?: unknown }).then === "function"
  );
}
