/**
 * CutShort cuts texts that people and models read. Runs anywhere.
 *
 * - A text that is cut ends with "…", and never with half a pair of surrogates.
 */

/** The text, or its first `length` characters and "…". */
export function cutShort(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  const isHalf = last >= 0xd800 && last < 0xdc00;
  return `${text.slice(0, isHalf ? length - 1 : length)}…`;
}
