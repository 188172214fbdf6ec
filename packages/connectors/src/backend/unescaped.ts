/**
 * Runs on the host. Undoes one layer of the escapes in which texts travel: percent-encoding, and those of JSON, JavaScript
 * and HTML. It knows where each character came from.
 */
const UTF8 =
  "%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-7](?:%[89ab][0-9a-f]){3}";
const BACKSLASHED = "\\\\(?:u\\{0{0,8}[0-9a-f]{1,6}\\}|u[0-9a-f]{4}|x[0-9a-f]{2}|[\\\\/\"'`bfnrt])";
const ENTITY = "&(?:#0{0,8}\\d{1,7};?|#x0{0,8}[0-9a-f]{1,6};?|(?:amp|lt|gt|quot|apos);)";
const ESCAPE = new RegExp(`${UTF8}|${BACKSLASHED}|${ENTITY}`, "giu");

const LETTERS: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const MOST_CODE_POINT = 0x10_ff_ff;

/** No escape has more characters. */
export const LONGEST_ESCAPE = 24;

export interface Undone {
  readonly text: string;
  /** How much of the escaped text it is. */
  readonly read: number;
}

/** Undefined if there is nothing to undo. */
export function unescaped(text: string): string | undefined {
  const places: number[] = [];
  const undone = undo(text, text.length, { here: 0, there: 0, places });
  return places.length === 0 ? undefined : undone.text;
}

/** Where the escaped text and the other one begin in longer ones, and where the places of escapes are noted. */
export interface Noted {
  readonly here: number;
  readonly there: number;
  /** Of each escape, where its character begins and ends now, and where it was: four numbers. */
  readonly places: number[];
}

/** Undoes the escapes that begin before the limit. What follows can be undone then as if nothing was before it. */
export function undo(text: string, limit: number, { here, there, places }: Noted): Undone {
  const parts: string[] = [];
  let [end, read] = [there, 0];
  ESCAPE.lastIndex = 0;
  for (let match = ESCAPE.exec(text); match !== null && match.index < limit; match = ESCAPE.exec(text)) {
    const [escape] = match;
    const character = characterOf(escape);
    if (match.index > read) parts.push(text.slice(read, match.index));
    parts.push(character);
    const start = end + match.index - read;
    read = match.index + escape.length;
    end = start + character.length;
    places.push(start, end, here + match.index, here + read);
  }
  const stop = Math.max(limit, read);
  if (read === 0 && stop === text.length) return { text, read: stop };
  parts.push(text.slice(read, stop));
  return { text: parts.join(""), read: stop };
}

/** From where to where in the escaped text a part of the other one was. */
export function originOf(
  places: readonly number[],
  from: number,
  to: number,
): readonly [from: number, to: number] {
  return [placeOf(places, from)[0], placeOf(places, to - 1)[1]];
}

/** The first escape whose character begins behind the position. */
export function escapeBehind(places: readonly number[], at: number): number {
  let [low, high] = [0, places.length / 4];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((places[middle * 4] as number) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where one character was: in its escape or, outside of all, as far behind the last one as it is now. */
function placeOf(places: readonly number[], at: number): readonly [from: number, to: number] {
  const escape = escapeBehind(places, at) - 1;
  if (escape < 0) return [at, at + 1];
  const [, end = 0, from = 0, to = 0] = places.slice(escape * 4, escape * 4 + 4);
  if (at < end) return [from, to];
  return [to + at - end, to + at - end + 1];
}

function characterOf(escape: string): string {
  if (escape.startsWith("%")) {
    if (escape.length === 3) return String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return Buffer.from(escape.replaceAll("%", ""), "hex").toString("utf8");
  }
  const inside = escape.slice(1).toLowerCase();
  if (escape.startsWith("\\")) {
    if (!/^[ux]/u.test(inside) || inside.length === 1) return LETTERS[inside] ?? inside;
    return fromCode(Number.parseInt(inside.replaceAll(/[ux{}]/gu, ""), 16), escape);
  }
  const name = inside.replace(/;$/u, "");
  if (!name.startsWith("#")) return ENTITIES[name] ?? escape;
  const isHex = name.startsWith("#x");
  return fromCode(Number.parseInt(name.slice(isHex ? 2 : 1), isHex ? 16 : 10), escape);
}

function fromCode(code: number, escape: string): string {
  return code <= MOST_CODE_POINT ? String.fromCodePoint(code) : escape;
}
