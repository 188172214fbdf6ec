/** Repeatable random choices from one seed. */

export interface Random {
  /** At least 0, less than 1. */
  next(): number;
  /** Different numbers below `count`; all of them if there are fewer than `many`. */
  pick(count: number, many: number): number[];
}

export function createRandom(seed: number): Random {
  let state = seed;
  const next = (): number => {
    // A Weyl sequence, mixed.
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    pick(count, many) {
      if (many >= count) return Array.from({ length: count }, (_, at) => at);
      const picked = new Set<number>();
      while (picked.size < many) picked.add(Math.floor(next() * count));
      return [...picked];
    },
  };
}
