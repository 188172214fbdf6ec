/**
 * OwnText copies texts that are to be kept. Runs anywhere.
 *
 * - Engines make a part of a text a view of the whole text, and a text that was put together a list of its parts. So who
 *   keeps a few words of a text keeps all of it. A copy keeps nothing else.
 */

/** A copy of the first `length` characters. */
export function ownText(text: string, length: number): string {
  return JSON.parse(JSON.stringify(text.slice(0, length))) as string;
}
