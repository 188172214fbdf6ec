/**
 * Runs on the host. Swallows what a tracer throws, and what it rejects with later: no program notices who watches it.
 */
export function quietly<T>(act: () => T): T | undefined {
  try {
    const made = act();
    if (made instanceof Promise) made.catch(() => {});
    return made;
  } catch {
    return undefined;
  }
}
