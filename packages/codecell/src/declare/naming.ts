/** Naming: names of types that are declared apart. Short, unlike each other, and unlike anything that has a meaning. */

const MOST_CHARACTERS = 40;

/** Names a declaration must not take from its surroundings. */
const TAKEN = [
  "Array",
  "Promise",
  "Record",
  "Object",
  "String",
  "Number",
  "Boolean",
  "Function",
  "Symbol",
  "Date",
  "Error",
];

export class Names {
  readonly #taken: Set<string>;

  constructor(taken: readonly string[]) {
    this.#taken = new Set([...TAKEN, ...taken]);
  }

  /** A free name like the hint. */
  take(hint: string | undefined): string {
    const wanted = toTypeName(hint ?? "");
    let name = wanted;
    for (let number = 2; this.#taken.has(name); number++) name = `${wanted}${number}`;
    this.#taken.add(name);
    return name;
  }
}

/** `user-group.member` as `UserGroupMember`. */
export function toTypeName(hint: string): string {
  const words = hint.slice(0, 200).match(/[A-Za-z0-9]+/gu) ?? [];
  const name = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join("");
  const short = name.slice(0, MOST_CHARACTERS);
  return /^[A-Z]/u.test(short) ? short : `T${short}`;
}
