/**
 * Naming: chooses the names of types that get a declaration of their own. Names are short, and collide neither with
 * each other nor with names that have a meaning. Runs anywhere.
 */

const MOST_CHARACTERS = 40;

/** Global names that a declaration must not shadow. */
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

  /** Takes a free name that resembles the hint. */
  take(hint: string | undefined): string {
    const wanted = toTypeName(hint ?? "");
    let name = wanted;
    for (let number = 2; this.#taken.has(name); number++) name = `${wanted}${number}`;
    this.#taken.add(name);
    return name;
  }
}

/** Turns `user-group.member` into `UserGroupMember`. */
export function toTypeName(hint: string): string {
  const words = hint.slice(0, 200).match(/[A-Za-z0-9]+/gu) ?? [];
  const name = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join("");
  const short = name.slice(0, MOST_CHARACTERS);
  return /^[A-Z]/u.test(short) ? short : `T${short}`;
}
