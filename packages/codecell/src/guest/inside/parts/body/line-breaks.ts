/** Line breaks: writes all line breaks of a text in one way, in linear time. Runs inside the guest. */
import { append, arrayJoin, list, regExpExec, stringSlice } from "../../primordials.ts";

const BREAK = /\r\n|\r|\n/g;

export function replaceBreaks(text: string, by: string): string {
  BREAK.lastIndex = 0;
  let found = regExpExec(BREAK, text);
  if (found === null) return text;
  const parts = list<string>();
  let from = 0;
  for (; found !== null; found = regExpExec(BREAK, text)) {
    append(parts, stringSlice(text, from, found.index));
    append(parts, by);
    from = found.index + found[0].length;
  }
  append(parts, stringSlice(text, from));
  return arrayJoin(parts, "");
}
