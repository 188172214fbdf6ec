/**
 * Pair iterator: the iterator objects of Headers, URLSearchParams and FormData. Runs inside the guest.
 *
 * - Live: each step asks the target for its pair at the next index.
 */
import {
  defineConstant,
  deleteProperty,
  getPrototypeOf,
  primordial,
  setPrototypeOf,
  toStringTag,
} from "../primordials.ts";

const { TypeError } = primordial;
const iteratorPrototype = getPrototypeOf(getPrototypeOf(new Map().entries()) as object) as object;

export type PairKind = "entries" | "keys" | "values";
type PairAt<Target> = (
  target: Target,
  index: number,
) => { readonly name: string; readonly value: unknown } | undefined;

export function createPairIterators<Target>(
  tag: string,
  pairAt: PairAt<Target>,
): (target: Target, kind: PairKind) => IterableIterator<never> {
  class PairIterator {
    readonly #target: Target;
    readonly #kind: PairKind;
    #index = 0;

    constructor(target: Target, kind: PairKind) {
      this.#target = target;
      this.#kind = kind;
    }

    next(): { value: unknown; done: boolean } {
      if (!(#index in this)) throw new TypeError("Illegal invocation");
      const pair = pairAt(this.#target, this.#index);
      if (pair === undefined) return { value: undefined, done: true };
      this.#index += 1;
      if (this.#kind === "keys") return { value: pair.name, done: false };
      if (this.#kind === "values") return { value: pair.value, done: false };
      return { value: [pair.name, pair.value], done: false };
    }
  }
  deleteProperty(PairIterator.prototype, "constructor");
  setPrototypeOf(PairIterator.prototype, iteratorPrototype);
  defineConstant(PairIterator.prototype, toStringTag, `${tag} Iterator`, true);
  return (target, kind) => new PairIterator(target, kind) as never;
}
