/** Options of declarations: checked and completed once, when a caller passes them. Runs anywhere. */
import type { Docs } from "./comment.ts";

export interface DeclareOptions {
  /**
   * How much documentation to show: all of it, at most this many characters of each comment, or none. Default "full".
   */
  readonly docs?: Docs | undefined;
  /** The most characters of the text. What does not fit is left out, and the text says how much. */
  readonly maxCharacters?: number | undefined;
}

export interface ResolvedOptions {
  readonly docs: Docs;
  readonly maxCharacters: number;
}

/** Nothing useful fits into fewer characters. */
const LEAST_CHARACTERS = 80;

export function resolveOptions(
  { docs = "full", maxCharacters }: DeclareOptions,
  defaultCharacters: number,
): ResolvedOptions {
  if (docs !== "full" && docs !== "none" && !(Number.isSafeInteger(docs) && docs > 0))
    throw new RangeError(
      `Cannot declare types: docs is ${String(docs)}, it must be "full", "none" or a number of characters`,
    );
  const most = maxCharacters ?? defaultCharacters;
  if (!Number.isSafeInteger(most) || most < LEAST_CHARACTERS)
    throw new RangeError(
      `Cannot declare types: maxCharacters is ${most}, it must be a whole number of at least ${LEAST_CHARACTERS}`,
    );
  return { docs, maxCharacters: most };
}
