/**
 * Names for operations: identifiers, at most 64 characters, each once. Runs anywhere.
 *
 * - A name depends on what the operation is, not on the order of the description.
 * - No name is made of a text that nobody may read.
 */
import type { Words } from "./words.ts";

const LONGEST = 64;

export interface Named {
  readonly operationId: unknown;
  readonly method: string;
  readonly path: string;
}

export function nameOperations(operations: readonly Named[], words: Words): readonly string[] {
  const byPlace = operations
    .map((operation, at) => ({ at, operation, wanted: wantedName(operation, words) }))
    .sort((one, other) => compare(placeOf(one.operation), placeOf(other.operation)));
  const names: string[] = [];
  const taken = new Set<string>();
  // Those that nobody else wants go first: another's number must not take their name.
  const wanted = Map.groupBy(byPlace, (one) => one.wanted);
  for (const [name, [first]] of wanted) {
    if (first === undefined) continue;
    names[first.at] = name;
    taken.add(name);
  }
  for (const [name, [, ...others]] of wanted) {
    for (const { at } of others) names[at] = numbered(name, taken);
  }
  return names;
}

function wantedName({ operationId, method, path }: Named, words: Words): string {
  const own = typeof operationId === "string" ? identifierOf(words.told(operationId)) : "";
  return own === "" ? nameOfPlace(method, words.told(path)) : own;
}

/** GET /users/{id}/posts is get_users_by_id_posts. */
function nameOfPlace(method: string, path: string): string {
  const spoken = path.replaceAll(/\{\+?([^{}]*)\}/gu, " by $1 ");
  const words = identifierOf(spoken);
  return cut(words === "" ? `${method.toLowerCase()}_root` : `${method.toLowerCase()}_${words}`);
}

function identifierOf(text: string): string {
  const plain = text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^A-Za-z0-9]+/gu, "_")
    .replaceAll(/^_|_$/gu, "");
  return cut(/^\d/u.test(plain) ? `_${plain}` : plain);
}

function cut(name: string): string {
  return name.slice(0, LONGEST).replace(/_$/u, "");
}

function numbered(name: string, taken: Set<string>): string {
  for (let count = 2; ; count++) {
    const end = `_${count}`;
    const candidate = name.slice(0, LONGEST - end.length) + end;
    if (taken.has(candidate)) continue;
    taken.add(candidate);
    return candidate;
  }
}

function placeOf({ method, path }: Named): string {
  return `${path} ${method}`;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
