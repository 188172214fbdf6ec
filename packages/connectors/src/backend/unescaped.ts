/**
 * Runs on the host. Undoes one layer of the escapes in which texts travel: percent-encoding, and those of JSON, JavaScript
 * and HTML. It knows where each character came from.
 */
export interface Unescaped {
  readonly text: string;
  /** From where to where in the escaped text a part of `text` was. */
  readonly origin: (from: number, to: number) => readonly [from: number, to: number];
}

const UTF8 =
  "%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-7](?:%[89ab][0-9a-f]){3}";
const BACKSLASHED = "\\\\(?:u\\{0{0,8}[0-9a-f]{1,6}\\}|u[0-9a-f]{4}|x[0-9a-f]{2}|[\\\\/\"'`bfnrt])";
const ENTITY = "&(?:#0{0,8}\\d{1,7};?|#x0{0,8}[0-9a-f]{1,6};?|(?:amp|lt|gt|quot|apos);)";
const ESCAPE = new RegExp(`${UTF8}|${BACKSLASHED}|${ENTITY}`, "giu");

const LETTERS: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const MOST_CODE_POINT = 0x10_ff_ff;

/** Undefined if there is nothing to undo. */
export function unescaped(text: string): Unescaped | undefined {
  // Of each escape, where its character begins and ends now, and where it was: four numbers.
  const places: number[] = [];
  let [end, read] = [0, 0];
  const found = text.replaceAll(ESCAPE, (escape: string, index: number) => {
    const character = characterOf(escape);
    const start = end + index - read;
    read = index + escape.length;
    end = start + character.length;
    places.push(start, end, index, read);
    return character;
  });
  if (places.length === 0) return undefined;
  return {
    text: found,
    origin: (from, to) => [originOf(places, from)[0], originOf(places, to - 1)[1]],
  };
}

/** Where one character was: in its escape or, outside of all, as far behind the last one as it is now. */
function originOf(places: readonly number[], at: number): readonly [from: number, to: number] {
  let [low, high] = [0, places.length / 4];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((places[middle * 4] as number) <= at) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return [at, at + 1];
  const [, end = 0, from = 0, to = 0] = places.slice(low * 4 - 4, low * 4);
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
