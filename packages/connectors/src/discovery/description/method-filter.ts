/**
 * Chooses methods by patterns such as `files.list` and `files.*`. Runs on a thread of its own.
 *
 * - A pattern that fits no method is a fault of the configuration: a method that was to be left out would be there.
 */
import { LoadFailure } from "../../description/document-bytes.ts";

/** `idsOf` gives all names by which a pattern may know a method. */
export function chooseMethods<Method>(
  methods: readonly Method[],
  idsOf: (method: Method) => readonly string[],
  { include, exclude }: { readonly include: readonly string[]; readonly exclude: readonly string[] },
): readonly Method[] {
  const fits = (method: Method, pattern: string): boolean =>
    idsOf(method).some((id) => fitsPattern(id, pattern));
  for (const pattern of [...include, ...exclude]) {
    if (!methods.some((method) => fits(method, pattern)))
      throw new LoadFailure(`its description has no method that "${pattern.slice(0, 100)}" stands for`);
  }
  return methods.filter(
    (method) =>
      (include.length === 0 || include.some((pattern) => fits(method, pattern))) &&
      !exclude.some((pattern) => fits(method, pattern)),
  );
}

/** A star stands for any text. */
function fitsPattern(id: string, pattern: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return id === pattern;
  if (!id.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = id.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return id.length - last.length >= at && id.endsWith(last);
}
