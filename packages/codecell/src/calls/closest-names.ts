/**
 * Runs on the host. Finds the names that are most like a wrong name, for messages that tell a model what it probably
 * meant.
 *
 * - A program can ask for wrong names all day, and a catalog has thousands of names. So of many names, only those are
 *   compared that begin and end most like the wrong name.
 */

const MOST_NAMES = 3;
const MOST_LISTED = 20;
const LONGEST_NAME = 64;
/** How many names are compared letter by letter. */
const MOST_COMPARED = 400;

interface ComparedName {
  readonly name: string;
  readonly key: string;
  /** The letters and digits of the key, a bit each. One bit may stand for two of them. */
  readonly letters: number;
}

/** The names of tool sets that were asked for before: a tool set does not change while a run has it. */
const read = new WeakMap<object, readonly ComparedName[]>();

/** What a program is told about a name that none of the run's tools has. */
export function noSuchTool(name: string, tools: object): string {
  let known = read.get(tools);
  if (known === undefined) {
    known = Object.keys(tools).map(toComparedName);
    read.set(tools, known);
  }
  const closest = closestOf(name, known);
  if (closest.length > 0) {
    const names = closest.map((one) => `"${one}"`).join(", ");
    return `no such tool, closest ${closest.length === 1 ? "is" : "are"} ${names}`;
  }
  const list = known.slice(0, MOST_LISTED).map((one) => `"${one.name}"`);
  if (list.length === 0) return "this run has no tools";
  const more = known.length > list.length ? ` and ${known.length - list.length} more` : "";
  return `no such tool, there are ${list.join(", ")}${more}`;
}

export function closestNames(wanted: string, names: readonly string[]): string[] {
  return closestOf(wanted, names.map(toComparedName));
}

function closestOf(wanted: string, names: readonly ComparedName[]): string[] {
  const target = toComparedName(wanted);
  const { length } = target.key;
  // In a name of a few letters, two wrong letters leave nothing in common.
  const tolerance = length < 5 ? 1 : Math.max(2, Math.floor(length / 3));
  return likeliest(target, names, tolerance)
    .map(({ name, key }) => ({ name, distance: distanceOf(target.key, key, tolerance) }))
    .filter(({ distance }) => distance <= tolerance && distance < length)
    .toSorted((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, MOST_NAMES)
    .map(({ name }) => name);
}

/** The names that may be close enough. If there are too many, those that begin and end most like the target. */
function likeliest(
  target: ComparedName,
  names: readonly ComparedName[],
  tolerance: number,
): readonly ComparedName[] {
  const possible = names.filter((one) => mayBeClose(target, one, tolerance));
  if (possible.length <= MOST_COMPARED) return possible;
  const byEnds: ComparedName[][] = [];
  for (const one of possible) (byEnds[commonEnds(target.key, one.key)] ??= []).push(one);
  // The list has holes.
  return byEnds
    .toReversed()
    .flatMap((some: readonly ComparedName[] | undefined) => some ?? [])
    .slice(0, MOST_COMPARED);
}

function mayBeClose(a: ComparedName, b: ComparedName, tolerance: number): boolean {
  if (isWithin(a.key, b.key)) return true;
  // One edit removes at most one letter.
  return (
    Math.abs(a.key.length - b.key.length) <= tolerance &&
    countBits(a.letters & ~b.letters) <= tolerance &&
    countBits(b.letters & ~a.letters) <= tolerance
  );
}

function toComparedName(name: string): ComparedName {
  const key = normalise(name);
  let letters = 0;
  for (let index = 0; index < key.length; index++) letters |= 1 << (key.charCodeAt(index) & 31);
  return { name, key, letters };
}

/** Models get case and separators wrong most often. */
function normalise(name: string): string {
  if (/^[a-z\d]*$/.test(name)) return name.slice(0, LONGEST_NAME);
  return name
    .slice(0, LONGEST_NAME)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
}

function isWithin(a: string, b: string): boolean {
  return a.length > 2 && b.length > 2 && (a.includes(b) || b.includes(a));
}

/** How many characters the two texts have in common at their start and at their end. */
function commonEnds(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let start = 0;
  while (start < most && a.charCodeAt(start) === b.charCodeAt(start)) start++;
  let end = 0;
  while (start + end < most && a.charCodeAt(a.length - 1 - end) === b.charCodeAt(b.length - 1 - end)) end++;
  return start + end;
}

function countBits(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}

/**
 * How many edits (insert, remove, replace, swap neighbours) lie between two texts, or more than the tolerance. A text
 * that contains the other is close. Stops as soon as the texts cannot be close any more.
 */
function distanceOf(a: string, b: string, tolerance: number): number {
  if (isWithin(a, b)) return 1;
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
