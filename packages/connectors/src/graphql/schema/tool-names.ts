/**
 * Names for generated tools: those of their fields, at most 64 characters, each once. Runs anywhere.
 *
 * - A query keeps its name when a mutation of the same name comes.
 */
import type { Words } from "../../description/words.ts";
import type { OperationKind } from "./messages.ts";

/** The tool for documents of the model's own. */
export const QUERY_TOOL = "query";
const LONGEST = 64;

export interface NamedField {
  readonly kind: OperationKind;
  readonly name: string;
}

export function nameFields(all: readonly NamedField[], words: Words): readonly string[] {
  // No name is made of a text that nobody may read.
  const fields = all.map(({ kind, name }) => ({ kind, name: words.told(name).replaceAll(/\W/gu, "") }));
  const taken = new Set([QUERY_TOOL]);
  const names: (string | undefined)[] = fields.map(() => undefined);
  // Those that have their own name go first: what was made for another must not take it.
  for (const kind of ["query", "mutation"]) {
    for (const [at, field] of fields.entries()) {
      if (field.kind !== kind || taken.has(field.name) || field.name.length > LONGEST) continue;
      taken.add(field.name);
      names[at] = field.name;
    }
  }
  return fields.map((field, at) => names[at] ?? freeName(field, taken));
}

/** `x_mutation`, or `x_mutation_2`. */
function freeName({ kind, name }: NamedField, taken: Set<string>): string {
  for (let count = 1; ; count++) {
    const end = count === 1 ? `_${kind}` : `_${kind}_${count}`;
    const candidate = name.slice(0, LONGEST - end.length) + end;
    if (taken.has(candidate)) continue;
    taken.add(candidate);
    return candidate;
  }
}
