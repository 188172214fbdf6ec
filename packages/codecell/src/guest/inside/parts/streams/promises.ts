/**
 * Promises: what the streams need of promises. Runs inside the guest.
 *
 * - Nothing here calls `then` or `resolve` as the program may have replaced them. The engine reads the constructor of a
 *   promise, though: a program that replaces that property for all promises breaks its own streams.
 */
import { apply, promiseThen, withResolvers } from "../../primordials.ts";

export type Resolvers = PromiseWithResolvers<unknown>;

export function noop(): void {}

/** A promise resolved with the value, which may be a promise. */
export function resolved(value?: unknown): Promise<unknown> {
  const { promise, resolve } = withResolvers();
  resolve(value);
  return promise;
}

export function rejected(reason: unknown): Promise<never> {
  const { promise, reject } = withResolvers();
  reject(reason);
  return promise as Promise<never>;
}

/** Nobody has to handle the rejection of this promise. */
export function handled(promise: Promise<unknown>): void {
  promiseThen(promise, noop, noop);
}

/** The promise of what one of the two functions gives. */
export function chained(
  promise: Promise<unknown>,
  onValue: (value: unknown) => unknown,
  onReason?: (reason: unknown) => unknown,
): Promise<unknown> {
  const next = withResolvers();
  const settle = (step: (value: unknown) => unknown, value: unknown): void => {
    try {
      next.resolve(step(value));
    } catch (error) {
      next.reject(error);
    }
  };
  promiseThen(
    promise,
    (value) => settle(onValue, value),
    onReason === undefined ? next.reject : (reason) => settle(onReason, reason),
  );
  return next.promise;
}

/** Calls a function of the program; what it throws becomes a rejection. */
export function called(
  callback: (...args: never[]) => unknown,
  self: unknown,
  args: unknown[],
): Promise<unknown> {
  try {
    return resolved(apply(callback as (...args: unknown[]) => unknown, self, args));
  } catch (error) {
    return rejected(error);
  }
}
