/**
 * CallWatch: knows which calls of a program nobody has waited for, in runs where that fails the program.
 *
 * - A promise counts as observed once its `constructor` was read. `await`, then, catch, finally and the functions of
 *   Promise do that before they wait for one; printing, cloning and encoding do not. The engine then goes its own way,
 *   so a program takes as many turns of the job queue as it does unwatched.
 * - A program that reads `constructor` itself passes for one that waits. So this says nothing about calls that are
 *   pending: the core knows those by itself.
 */
import { captureGetter, create, defineProperty, primordial, record } from "../primordials.ts";

const { Promise, Error } = primordial;

/** Where an error was made, whatever its own properties say. */
export const errorStack: (error: unknown) => unknown = captureGetter(Error.prototype, "stack");

export interface CallWatch {
  /** Watches the promise that the program has of a call, in place of any before. */
  readonly watch: (call: number, promise: object, error: Error) => void;
  /** Where the call was made; undefined for one that was observed. */
  readonly unobserved: { readonly [call: number]: Error | undefined };
}

/** Makes a call of one kind. */
export type Ask = (input: unknown, error: Error) => Promise<unknown>;

/**
 * For what waits for a call itself and gives the program a promise of its own: the program has to look at that one.
 * `make` is given the function to call with.
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
      // First, since it may find no room: a promise that cannot be watched is not held against the program.
      defineProperty(promise, "constructor", property);
      unobserved[call] = error;
    },
  };
}
