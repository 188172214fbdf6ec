/** URL percent: percent-encode sets, and percent-decoding to UTF-8 text. Linear in the text. Runs inside the guest. */
import { Utf8Decoder } from "../web/encoding-text.ts";
import {
  append,
  arrayJoin,
  list,
  primordial,
  regExpExec,
  stringCharAt,
  stringCharCodeAt,
  stringIndexOf,
  stringSlice,
} from "../primordials.ts";

const { Uint8Array } = primordial;
const encodePercent = encodeURIComponent;
const decodePercent = decodeURIComponent;

/** Each pattern matches one ASCII character of the set, or a run of non-ASCII characters. */
export const C0_SET = /[\0-\x1f\x7f]|[^\0-\x7f]+/g;
export const FRAGMENT_SET = /[\0-\x20"<>`\x7f]|[^\0-\x7f]+/g;
export const QUERY_SET = /[\0-\x20"#<>\x7f]|[^\0-\x7f]+/g;
export const SPECIAL_QUERY_SET = /[\0-\x20"#<>'\x7f]|[^\0-\x7f]+/g;
export const PATH_SET = /[\0-\x20"#<>?^`{}\x7f]|[^\0-\x7f]+/g;
export const USERINFO_SET = /[\0-\x20"#<>?^`{}/:;=@[\\\]|\x7f]|[^\0-\x7f]+/g;

/** The text must be well formed. */
export function percentEncode(text: string, set: RegExp): string {
  set.lastIndex = 0;
  let found = regExpExec(set, text);
  if (found === null) return text;
  const parts = list<string>();
  let from = 0;
  for (; found !== null; found = regExpExec(set, text)) {
    const run = found[0];
    append(parts, stringSlice(text, from, found.index));
    append(
      parts,
      run.length === 1 && run < "\x80" ? percentByte(stringCharCodeAt(run, 0)) : encodePercent(run),
    );
    from = found.index + run.length;
  }
  append(parts, stringSlice(text, from));
  return arrayJoin(parts, "");
}

const HEX = "0123456789ABCDEF";

function percentByte(byte: number): string {
  return `%${HEX[byte >> 4] as string}${HEX[byte & 15] as string}`;
}

function hexValue(unit: number): number {
  if (unit >= 48 && unit <= 57) return unit - 48;
  const lower = unit | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

/** Percent-decodes to UTF-8; malformed sequences become U+FFFD. The text must be well formed. */
export function percentDecode(text: string): string {
  if (stringIndexOf(text, "%") < 0) return text;
  try {
    return decodePercent(text);
  } catch {
    return decodeSlowly(text);
  }
}

function decodeSlowly(text: string): string {
  const parts = list<string>();
  const bytes = new Uint8Array((text.length / 3 + 1) | 0);
  let from = 0;
  for (let index = stringIndexOf(text, "%"); index >= 0; index = stringIndexOf(text, "%", from)) {
    append(parts, stringSlice(text, from, index));
    let count = 0;
    while (stringCharAt(text, index) === "%" && index + 2 < text.length) {
      const high = hexValue(stringCharCodeAt(text, index + 1));
      const low = hexValue(stringCharCodeAt(text, index + 2));
      if (high < 0 || low < 0) break;
      bytes[count] = high * 16 + low;
      count += 1;
      index += 3;
    }
    if (count > 0) append(parts, new Utf8Decoder(false).decode(bytes, count, false));
    else {
      append(parts, "%");
      index += 1;
    }
    from = index;
  }
  append(parts, stringSlice(text, from));
  return arrayJoin(parts, "");
}
