/**
 * Literal: prints names and JSON values as TypeScript. Runs anywhere.
 *
 * - A value that is not JSON, or is too large for a type, becomes a wider type.
 */

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/u;
const MOST_CHARACTERS = 400;
const MOST_LEVELS = 16;
const MOST_VALUES = 200;

export function isIdentifier(name: string): boolean {
  return IDENTIFIER.test(name);
}

/** The name of a field, in quotes if it needs them. */
export function toFieldName(name: string): string {
  return isIdentifier(name) ? name : quote(name);
}

/** The name of a method. `new` gets quotes, because `new(…)` would declare a constructor. */
export function toMethodName(name: string): string {
  return name === "new" ? quote(name) : toFieldName(name);
}

/** Line ends that JSON allows inside a string, and characters that change the order in which text is shown. */
const ESCAPED = /[\u2028\u2029\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

export function quote(text: string): string {
  return JSON.stringify(text).replaceAll(
    ESCAPED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The type that only this value has. */
export function toLiteral(value: unknown): string {
  return literal(value, { levels: MOST_LEVELS, values: MOST_VALUES });
}

interface Room {
  levels: number;
  values: number;
}

function literal(value: unknown, room: Room): string {
  if (--room.values < 0) return "unknown";
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return value.length <= MOST_CHARACTERS ? quote(value) : "string";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "number";
  if (typeof value !== "object" || room.levels === 0) return "unknown";
  room.levels--;
  const text = Array.isArray(value) ? listLiteral(value, room) : recordLiteral(value, room);
  room.levels++;
  return text;
}

function listLiteral(value: readonly unknown[], room: Room): string {
  if (value.length > room.values) return "unknown[]";
  return `[${Array.from(value, (item) => literal(item, room)).join(",")}]`;
}

function recordLiteral(value: object, room: Room): string {
  const names = Object.keys(value);
  if (names.length > room.values) return "Record<string,unknown>";
  if (names.length === 0) return "Record<string,never>";
  const fields = names.map((name) => {
    const text = literal((value as Readonly<Record<string, unknown>>)[name], room);
    return `${toFieldName(name)}:${text}`;
  });
  return `{${fields.join(",")}}`;
}
