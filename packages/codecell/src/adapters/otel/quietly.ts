/** What a tracer throws is nobody's, nor what it rejects with later: no program notices who watches it. */
export function quietly<T>(act: () => T): T | undefined {
  try {
    const made = act();
    if (made instanceof Promise) made.catch(() => {});
    return made;
  } catch {
    return undefined;
  }
}
