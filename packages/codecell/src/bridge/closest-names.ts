/** The names most like a wrong one, for messages that tell a model what it probably meant. */

const MOST_NAMES = 3;
const LONGEST_NAME = 64;

export function closestNames(wanted: string, names: readonly string[]): string[] {
  const target = normalise(wanted);
  const tolerance = Math.max(2, Math.floor(target.length / 3));
  return names
    .map((name) => ({ name, distance: distanceOf(target, normalise(name)) }))
    .filter(({ distance }) => distance <= tolerance)
    .toSorted((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, MOST_NAMES)
    .map(({ name }) => name);
}

/** Case and separators are what models get wrong most. */
function normalise(name: string): string {
  return name
    .slice(0, LONGEST_NAME)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/** Edits (insert, remove, replace, swap neighbours) between two texts; one containing the other is close. */
function distanceOf(a: string, b: string): number {
  if (a.length > 2 && b.length > 2 && (a.includes(b) || b.includes(a))) return 1;
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min(
        cell(rows, i - 1, j) + 1,
        (row[j - 1] ?? 0) + 1,
        cell(rows, i - 1, j - 1) + (same ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, cell(rows, i - 2, j - 2) + 1);
      }
      row.push(best);
    }
    rows.push(row);
  }
  return cell(rows, a.length, b.length);
}

function cell(rows: readonly number[][], i: number, j: number): number {
  return rows[i]?.[j] ?? 0;
}
