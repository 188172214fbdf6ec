/**
 * Runs on the host. SliceJson takes a part of a list or a text that is given as JSON text.
 *
 * - The items of a list are not built: what they have inside does not matter here, and may take long to build and
 *   print again.
 * - The text must be JSON.
 */
import { inTurns, atOnce, type Steps } from "../../loop/turn.ts";
import { endOfString } from "../../value/json-text.ts";
import { isLargeText } from "../../value/parse-json.ts";

/** About how many characters are looked at between two steps. */
const PIECE = 65_536;
const [QUOTE, COMMA, LIST, LIST_END, RECORD, RECORD_END] = [0x22, 0x2c, 0x5b, 0x5d, 0x7b, 0x7d];

/** The part as JSON text; undefined if the value is neither a list nor a text. */
export async function sliceJson(json: string, from: number, to: number): Promise<string | undefined> {
  const value = json.trim();
  if (value.startsWith('"')) return JSON.stringify((JSON.parse(value) as string).slice(from, to));
  if (!value.startsWith("[")) return undefined;
  const steps = sliceList(value, from, to);
  return isLargeText(value) ? inTurns(steps) : atOnce(steps);
}

function* sliceList(json: string, from: number, to: number): Steps<string> {
  const end = json.length - 1;
  if (from >= to || json.slice(1, end).trim() === "") return "[]";
  let depth = 0;
  let index = 0;
  let start = from === 0 ? 1 : end;
  for (let at = 1, yieldedAt = 0; at < end; at++) {
    if (at - yieldedAt > PIECE) {
      yieldedAt = at;
      yield;
    }
    switch (json.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(json, at);
        break;
      case LIST:
      case RECORD:
        depth++;
        break;
      case LIST_END:
      case RECORD_END:
        depth--;
        break;
      case COMMA:
        if (depth > 0) break;
        index++;
        if (index === from) start = at + 1;
        if (index === to) return `[${json.slice(start, at)}]`;
        break;
      default:
    }
  }
  // A long text may have ended just now.
  yield;
  return `[${json.slice(start, end)}]`;
}
