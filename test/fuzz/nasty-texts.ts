/**
 * Texts that take longest to normalise, split, match, measure, escape and cut.
 *
 * They consist of units that are cheap alone and expensive in large numbers: a few units, in long runs or by turns,
 * after a beginning and before an end that some pattern looks for and does not find. Words take longest to correct if
 * nobody knows them and many known words begin like them. Noise takes most room where texts are compressed.
 */
import { createCipheriv } from "node:crypto";
import type { Random } from "./random.ts";

const UNITS = [
  ..."a A 0 _ - . , : ; / \\ % & ? # @ $ * + ' \" ` ( [ { < > ) ] } = ! ~ ^ |".split(" "),
  " ",
  "\n",
  "\r",
  "\t",
  "\0",
  "\u2028",
  "\ufeff",
  // Marks of several classes, and sequences that are composed into one character.
  "\u0301",
  "\u0345",
  "\u0f71\u0f72",
  "\uff9e",
  "a\u0323\u0301",
  // Letters that grow or change their length with their case or form.
  "\ufdfa",
  "ß",
  "İ",
  "Σ",
  "ﬃ",
  "必",
  "か\u3099",
  "\u1100\u1161\u11a8",
  "🙂",
  "👨‍👩‍👧",
  // Halves of surrogate pairs.
  "\ud800",
  "\udc00",
  // Texts that nearly match what is looked for.
  "%2e",
  "%25",
  "%CD%85",
  "xn--",
  "&amp",
  "at x (file:///x:1:1)\n",
  "node:internal/",
  "tools.",
  "this ",
  "tools .x ",
  "\\u0061",
  '{"a":',
  "[[",
  '\\"',
  "__proto__",
  "constructor ",
  "```\n",
  "/*",
  "//\n",
  "fooBar",
  "ab cd ",
] as const;

const BEGINNINGS = [
  "",
  "",
  "",
  "a",
  " ",
  "http://",
  "https://a.example/",
  "http://a.example/x/",
  "```sh\n",
  "Cannot ",
  '"',
  "tools.",
  "mcp:a:",
];
const ENDS = ["", "", "", "a", "!", "@", " ", "\n", "%", '"', "/..", "/%2e%2e"];

/** A text of so many UTF-16 units. */
export function nastyText(random: Random, length: number): string {
  const units = Array.from({ length: 1 + random.below(3) }, () => random.pick(UNITS));
  const [begin, end] = [random.pick(BEGINNINGS), random.pick(ENDS)];
  const room = Math.max(0, length - begin.length - end.length);
  return `${begin}${arrange(random, units, room)}${end}`.slice(0, length);
}

/** The beginnings of most words in real catalogs. */
const WORD_BEGINNINGS = ["con", "comp", "s", "c", "get", "getsec"] as const;

/** So many characters of words that no catalog knows, all of one beginning and of one length. */
export function unknownWords(random: Random, length: number): string {
  const begin = random.pick(WORD_BEGINNINGS);
  const each = 8 + random.below(10);
  const words = Array.from({ length: Math.floor(length / (each + 1)) }, () => {
    const letters = Array.from({ length: each - begin.length }, () =>
      String.fromCharCode(97 + random.below(26)),
    );
    return `${begin}${letters.join("")}`;
  });
  return words.join(" ");
}

function arrange(random: Random, units: readonly string[], room: number): string {
  switch (random.below(4)) {
    case 0: {
      // One run after the other.
      const each = Math.ceil(room / units.length);
      return units
        .map((unit) => fill(unit, each))
        .join("")
        .slice(0, room);
    }
    case 1:
      return fill(units.join(""), room);
    case 2: {
      // Words that all differ.
      const parts: string[] = [];
      for (let size = 0, at = random.below(1000); size < room; at++) {
        const part = `${units.join("")}${at.toString(36)}`;
        parts.push(part);
        size += part.length;
      }
      return parts.join("").slice(0, room);
    }
    default: {
      // Runs that grow: each begins like the run before it.
      const [unit = "a", separator = " "] = units;
      const parts: string[] = [];
      for (let size = 0, count = 1; size < room; count++) {
        parts.push(unit.repeat(count), separator);
        size += unit.length * count + separator.length;
      }
      return parts.join("").slice(0, room);
    }
  }
}

function fill(unit: string, room: number): string {
  return unit.repeat(Math.ceil(room / unit.length)).slice(0, room);
}

/** Text that hardly compresses and is the same each time. One character makes an engine use two bytes for each. */
export function noise(seed: number, length: number): string {
  const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16));
  return `${cipher.update(Buffer.alloc(length)).toString("base64url").slice(1, length)}\u5fc5`;
}
