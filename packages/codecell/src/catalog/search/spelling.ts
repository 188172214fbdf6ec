/**
 * Spelling: for an unknown word, finds the catalog's words that were probably meant. Runs anywhere.
 *
 * - Allows one slip (a letter missing, extra, wrong, or two swapped) in words from four letters on, and two from eight
 *   on. The first letter must be right: people rarely miss it, and this limits the comparison to a few hundred words.
 * - The work for one request is bounded, whatever its words and however large the catalog: a program may ask for
 *   hundreds of words that nobody knows.
 */

export interface Spelling {
  /**
   * For the words of one request, in their order. When they have used up the request's work, nothing is found for
   * further ones.
   */
  ofRequest(): (term: string) => readonly string[];
}

const SHORTEST = 4;
const LONG = 8;
const MOST_CORRECTIONS = 3;
/**
 * The work for one request, in pairs of letters: comparing two words takes a pair for each letter of one and each letter
 * of the other. This is four times what any ordinary request needs in a catalog of 6,500 real tools, and a few
 * milliseconds.
 */
const MOST_PAIRS = 500_000;

export function buildSpelling(terms: Iterable<string>, isKnown: (term: string) => boolean): Spelling {
  const byStart = new Map<string, string[]>();
  for (const term of terms) {
    if (term.length < SHORTEST - 1) continue;
    const key = keyOf(term, term.length);
    const found = byStart.get(key);
    if (found === undefined) byStart.set(key, [term]);
    else found.push(term);
  }
  return {
    ofRequest() {
      let left = MOST_PAIRS;
      return (term) => {
        if (left <= 0 || term.length < SHORTEST || /\d/u.test(term) || isKnown(term)) return [];
        const slips = term.length < LONG ? 1 : 2;
        const close: { other: string; distance: number }[] = [];
        for (let length = term.length - slips; length <= term.length + slips; length += 1) {
          for (const other of byStart.get(keyOf(term, length)) ?? []) {
            left -= term.length * length;
            if (left < 0) break;
            const distance = distanceBetween(term, other, slips);
            if (distance <= slips) close.push({ other, distance });
          }
        }
        const least = Math.min(...close.map(({ distance }) => distance));
        return close
          .filter(({ distance }) => distance === least)
          .slice(0, MOST_CORRECTIONS)
          .map(({ other }) => other);
      };
    },
  };
}

function keyOf(term: string, length: number): string {
  return `${term[0]}${length}`;
}

/** The number of slips between two words (optimal string alignment), or `most + 1` if there are more than `most`. */
function distanceBetween(a: string, b: string, most: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1] ? 0 : 1;
      let least = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + same,
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        least = Math.min(least, (beforeLast[column - 2] ?? 0) + 1);
      }
      current.push(least);
    }
    if (Math.min(...current) > most) return most + 1;
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}
