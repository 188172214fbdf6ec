/**
 * JSON of a given size that takes longest to build, print, sort, measure and cut.
 *
 * Names of fields are new each time: an engine remembers names, and is fast the second time.
 */
import { nastyText } from "./nasty-texts.ts";
import type { Random } from "./random.ts";

/**
 * The number, out of 32 bits, that V8 hashes to this: its hash of numbers has no secret. Numbers whose hashes end in the
 * same bits fall into the same place of a set.
 */
function numberHashedTo(hash: number): number {
  let left = unshifted(hash | 0, 16);
  left = unshifted(Math.imul(left, inverse(2057)), 4);
  left = unshifted(Math.imul(left, inverse(5)), 12);
  return Math.imul(left + 1, inverse(32_767)) | 0;
}

/** Undoes `hash ^ (hash >>> bits)`. */
function unshifted(hash: number, bits: number): number {
  let value = hash;
  for (let known = bits; known < 32; known += bits) value = hash ^ (value >>> bits);
  return value;
}

/** `factor * inverse(factor)` is 1 in 32 bits, if the factor is odd. */
function inverse(factor: number): number {
  let value = factor;
  for (let step = 0; step < 6; step++) value = Math.imul(value, 2 - Math.imul(factor, value));
  return value;
}

type Make = (random: Random, size: number) => string;

let made = 0;

/** A name that no engine has seen. */
function freshName(): string {
  return `k${(made++).toString(36)}`;
}

/** As many members as fit. */
function members(size: number, one: (index: number) => string): string {
  const all: string[] = [];
  for (let index = 0, left = size - 2; ; index++) {
    const member = one(index);
    left -= member.length + 1;
    if (left < 0) return all.join(",");
    all.push(member);
  }
}

const list = (size: number, one: (index: number) => string): string => `[${members(size, one)}]`;
const record = (size: number, one: (index: number) => string): string => `{${members(size, one)}}`;
const shuffled = (random: Random, names: readonly string[]): string[] =>
  names
    .map((name) => [random.below(1e6), name] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, name]) => name);

/** The parser's limit for lists and records in one value. */
const MOST_CONTAINERS = 65_000;

const MAKES: Readonly<Record<string, Make>> = {
  "many fields": (_, size) => record(size, () => `"${freshName()}":0`),
  "fields that are numbers": (random, size) => record(size, () => `"${random.below(4294967290)}":0`),
  "records that are all different": (_, size) =>
    list(size, () => `{${Array.from({ length: 20 }, () => `"${freshName()}":0`).join(",")}}`),
  "fields in all orders": (random, size) => {
    const names = Array.from({ length: 30 }, freshName);
    return list(
      size,
      () =>
        `{${shuffled(random, names)
          .map((name) => `"${name}":0`)
          .join(",")}}`,
    );
  },
  numbers: (random, size) => list(size, () => random.pick(["1", "1.5", "-0", "1e300", "1e-7"])),
  "numbers that collide": (_, size) => list(size, (index) => String(numberHashedTo((index << 15) | 5))),
  digits: (random, size) => list(size, () => `0.${String(random.below(1e9)).repeat(30)}`),
  "short texts": (_, size) => list(size, () => `"${freshName()}"`),
  "empty texts": (_, size) => list(size, () => '""'),
  "small lists": (_, size) => list(Math.min(size, 3 * MOST_CONTAINERS), () => "[]"),
  "small records": (_, size) => list(Math.min(size, 9 * MOST_CONTAINERS), () => `{"a":0}`),
  deep: (_, size) => {
    const depth = Math.min(1000, Math.floor(size / 8));
    return `${'{"a":'.repeat(depth)}0${"}".repeat(depth)}`;
  },
  "deep and wide": (_, size) => {
    const depth = Math.min(900, Math.floor(size / 64));
    const inside = list(size - 2 * depth - 2, () => `"${freshName()}"`);
    return `${"[".repeat(depth)}${inside}${"]".repeat(depth)}`;
  },
  "one text": (random, size) => {
    const text = JSON.stringify(nastyText(random, Math.floor(size / 6)));
    return text.length <= size ? text : `"${"a".repeat(size - 2)}"`;
  },
  texts: (random, size) => list(size, () => JSON.stringify(nastyText(random, 200))),
  "long names": (random, size) =>
    record(size, () => `${JSON.stringify(`${freshName()}${nastyText(random, 300)}`)}:[]`),
  "names of objects": (_, size) =>
    list(Math.min(size, 30 * MOST_CONTAINERS), () => '{"__proto__":{"x":1},"toJSON":1,"then":0}'),
  escapes: (_, size) => `"${"\\u0000".repeat(Math.floor((size - 2) / 6))}"`,
  quotes: (_, size) => `"${'\\"'.repeat(Math.floor((size - 2) / 2))}"`,
};

export const KINDS: readonly string[] = Object.keys(MAKES);

/** JSON text of at most `size` characters, which are bytes if the text is plain. */
export function nastyJson(random: Random, size: number, kind: string = random.pick(KINDS)): string {
  return MAKES[kind]?.(random, size) ?? "null";
}
