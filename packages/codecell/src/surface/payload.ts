/**
 * Payload: the last look at the tools of a request, before a provider gets it.
 *
 * - What came in beside the tools that the model may see is left out. When one of these is missing, or another tool took
 *   the place of `exec` or `wait`, the request is refused: a model that cannot reach its tools, or sees others, must not
 *   be asked.
 */
export interface PayloadTool {
  readonly name: string;
  /** Told apart by it, where there is one: the shell's `exec` is not ours. */
  readonly description?: unknown;
}

/** A description that was cut shorter than this could be any tool's. */
const LEAST_DESCRIPTION = 40;

export class PayloadError extends Error {
  override readonly name = "PayloadError";
}

export function checkPayload<T extends PayloadTool>(
  tools: readonly T[],
  visible: readonly string[],
  own: Readonly<Record<string, string>>,
  debug: ((line: string) => void) | undefined,
): readonly T[] {
  const kept = visible.map((name) => {
    const [found, ...more] = tools.filter((tool) => tool.name === name);
    if (found === undefined) {
      throw new PayloadError(
        `Cannot send the request: tool "${name}" is missing from it, give all of visibleTools to the provider`,
      );
    }
    if (more.length > 0) {
      throw new PayloadError(
        `Cannot send the request: two of its tools are called "${name}", which only code mode may be`,
      );
    }
    const description = Object.hasOwn(own, name) ? own[name] : undefined;
    if (description !== undefined && !isSame(description, found.description)) {
      throw new PayloadError(`Cannot send the request: its "${name}" is another tool, not that of code mode`);
    }
    return found;
  });
  const left = tools.filter((tool) => !visible.includes(tool.name));
  // Names only: what tools say and take may hold secrets.
  debug?.(`code mode: the request has ${visible.join(", ")}`);
  if (left.length > 0)
    debug?.(`code mode: left out ${left.map(({ name }) => JSON.stringify(name)).join(", ")}`);
  return kept;
}

/** Providers cut descriptions, and hosts add to them. */
function isSame(own: string, given: unknown): boolean {
  if (typeof given !== "string") return true;
  return given.startsWith(own) || (given.length >= LEAST_DESCRIPTION && own.startsWith(given));
}
