/**
 * CallWatch: knows which calls a program has not waited for, in runs where that fails the program. Runs inside the
 * guest.
 *
 * - A promise counts as observed when its `constructor` has been read. `await`, then, catch, finally and the functions
 *   of Promise read it before they wait; printing, cloning and encoding do not. After that the engine works as usual,
 *   so a program takes as many rounds of the job queue as without a watch.
 * - A program that reads `constructor` itself counts as one that waits. So the watch says nothing about pending calls;
 *   the core knows those.
 */
import { captureGetter, create, defineProperty, primordial, record } from "../primordials.ts";

const { Promise, Error } = primordial;

/** The stack of an error, whatever its own properties say. */
export const errorStack: (error: unknown) => unknown = captureGetter(Error.prototype, "stack");

export interface CallWatch {
  /** Watches the promise that the program has for a call, instead of a promise watched before. */
  readonly watch: (call: number, promise: object, error: Error) => void;
  /** The error that shows where the call was made; undefined for an observed call. */
  readonly unobserved: { readonly [call: number]: Error | undefined };
}

/** Makes a call of a fixed kind. */
export type Ask = (input: unknown, error: Error) => Promise<unknown>;

/**
 * For a function that waits for a call itself and gives the program another promise: the program has to look at that
 * promise. `make` gets the function that makes the call.
 */
export type StandIn = (call: Ask, make: (call: Ask) => Promise<unknown>) => Promise<unknown>;

export function createCallWatch(): CallWatch {
  const unobserved = record<Error>();
  const property = create(null) as PropertyDescriptor;
  return {
    unobserved,
    watch: (call, promise, error) => {
      property.get = () => {
        delete unobserved[call];
        return Promise;
      };
      // This comes first, because it may run out of memory: a promise that cannot be watched must not count against the
      // program.
      defineProperty(promise, "constructor", property);
      unobserved[call] = error;
    },
  };
}
