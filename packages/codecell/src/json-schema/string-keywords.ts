/** Keywords for strings. Runs anywhere. */
import { cutShort } from "../contract/cut-short.ts";
import type { Rule } from "./judging.ts";
import type { SchemaObject } from "../contract/schema-object.ts";
import { numberIn, textIn } from "./document.ts";
import { formatTest } from "./formats.ts";
import { compilePattern } from "./pattern.ts";

const LONGEST_SHOWN = 120;

export function stringRules(schema: SchemaObject): Rule[] {
  const rules: Rule[] = [];
  const [least, most] = [numberIn(schema, "minLength"), numberIn(schema, "maxLength")];
  const [pattern, format] = [textIn(schema, "pattern"), textIn(schema, "format")];
  if (least !== undefined) {
    rules.push((value, judging) => {
      const text = value as string;
      // A character has at most two UTF-16 units.
      if (text.length >= 2 * least) return true;
      judging.spend(text.length >> 3);
      return characters(text) >= least || judging.fail(`must have at least ${least} characters`);
    });
  }
  if (most !== undefined) {
    rules.push((value, judging) => {
      const text = value as string;
      if (text.length <= most) return true;
      if (text.length > 2 * most) return judging.fail(`must have at most ${most} characters`);
      judging.spend(text.length >> 3);
      return characters(text) <= most || judging.fail(`must have at most ${most} characters`);
    });
  }
  if (pattern !== undefined) {
    const test = compilePattern(pattern);
    const text = `must match the pattern ${shortened(pattern)}`;
    rules.push((value, judging) => test(value as string, judging) || judging.fail(text));
  }
  const test = format === undefined ? undefined : formatTest(format);
  if (test !== undefined) {
    const text = `must have the format ${format}`;
    rules.push((value, judging) => test(value as string, judging) || judging.fail(text));
  }
  return rules;
}

/** The number of code points. */
function characters(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length - 1; index++) {
    if ((text.charCodeAt(index) & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) {
      count--;
      index++;
    }
  }
  return count;
}

export function shortened(text: string): string {
  return cutShort(text, LONGEST_SHOWN);
}
