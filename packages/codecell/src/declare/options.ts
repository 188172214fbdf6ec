/** Options of declarations, resolved once at the door. */
import type { Docs } from "./comment.ts";

export interface DeclareOptions {
  /** How much documentation: all of it, at most so many characters for each comment, or none. Default "full". */
  readonly docs?: Docs | undefined;
  /** The text is at most this long; what does not fit is left out, and it is said how much. */
  readonly maxCharacters?: number | undefined;
}

export interface ResolvedOptions {
  readonly docs: Docs;
  readonly maxCharacters: number;
}

/** Below this nothing useful fits. */
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
