/**
 * Runs on the host. Checks the tools of a request right before a provider gets it.
 *
 * Tools that the model may not see are left out. If a tool is missing that it should see, or another tool took the
 * place of `exec` or `wait`, the request is refused: a model that cannot reach its tools, or sees other tools, must
 * not be asked.
 */

/** A tool of a request to a provider. */
export interface PayloadTool {
  readonly name: string;
  /** If given, tells tools of the same name apart: the shell's `exec` is not ours. */
  readonly description?: unknown;
}

/** A description that was cut to less than this could belong to any tool. */
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
        `Cannot send the request: two of its tools are called "${name}", leave out the one that visibleTools does not have`,
      );
    }
    const description = Object.hasOwn(own, name) ? own[name] : undefined;
    if (description !== undefined && !isSame(description, found.description)) {
      throw new PayloadError(
        `Cannot send the request: its "${name}" is another tool, give it the one of code mode`,
      );
    }
    return found;
  });
  const left = tools.filter((tool) => !visible.includes(tool.name));
  // Names only, since descriptions and schemas of tools may hold secrets.
  debug?.(`code mode: the request has ${visible.join(", ")}`);
  if (left.length > 0)
    debug?.(`code mode: left out ${left.map(({ name }) => JSON.stringify(name)).join(", ")}`);
  return kept;
}

/** Providers cut descriptions, and hosts add to them: both count as the same. */
function isSame(own: string, given: unknown): boolean {
  if (typeof given !== "string") return true;
  return given.startsWith(own) || (given.length >= LEAST_DESCRIPTION && own.startsWith(given));
}
