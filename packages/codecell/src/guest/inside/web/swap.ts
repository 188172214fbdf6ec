/** Swap: changes what a pattern finds in a text. Runs inside the guest. */
import { append, arrayJoin, list, regExpExec, stringSlice } from "../primordials.ts";

/** The pattern is global. Programs cannot reach into this, as they could into `replace`. */
export function swap(text: string, pattern: RegExp, change: (found: string) => string): string {
  pattern.lastIndex = 0;
  let found = regExpExec(pattern, text);
  if (found === null) return text;
  const parts = list<string>();
  let from = 0;
  for (; found !== null; found = regExpExec(pattern, text)) {
    append(parts, stringSlice(text, from, found.index));
    append(parts, change(found[0]));
    from = found.index + found[0].length;
  }
  append(parts, stringSlice(text, from));
  return arrayJoin(parts, "");
}
