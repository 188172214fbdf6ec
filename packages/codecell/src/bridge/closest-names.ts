/** The names most like a wrong one, for messages that tell a model what it probably meant. */

const MOST_NAMES = 3;
const LONGEST_NAME = 64;

export function closestNames(wanted: string, names: readonly string[]): string[] {
  const target = normalise(wanted);
  // Of a name of a few letters two wrong ones leave nothing that is like it.
  const tolerance = target.length < 5 ? 1 : Math.max(2, Math.floor(target.length / 3));
  return names
    .map((name) => ({ name, distance: distanceOf(target, normalise(name), tolerance) }))
    .filter(({ distance }) => distance <= tolerance && distance < target.length)
    .toSorted((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, MOST_NAMES)
    .map(({ name }) => name);
}

/** Case and separators are what models get wrong most. */
function normalise(name: string): string {
  if (/^[a-z\d]*$/.test(name)) return name.slice(0, LONGEST_NAME);
  return name
    .slice(0, LONGEST_NAME)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/**
 * Edits (insert, remove, replace, swap neighbours) between two texts, or more than the tolerance; one containing the
 * other is close. Given up as soon as it cannot be close any more: a catalog has thousands of names.
 */
function distanceOf(a: string, b: string, tolerance: number): number {
  if (a.length > 2 && b.length > 2 && (a.includes(b) || b.includes(a))) return 1;
  const tooFar = tolerance + 1;
  if (Math.abs(a.length - b.length) > tolerance) return tooFar;
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min(at(above, j) + 1, at(row, j - 1) + 1, at(above, j - 1) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, at(before, j - 2) + 1);
      }
      row.push(best);
      least = Math.min(least, best);
    }
    if (least > tolerance) return tooFar;
    before = above;
    above = row;
  }
  return at(above, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? 0;
}
