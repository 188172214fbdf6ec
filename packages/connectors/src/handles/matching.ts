/** Runs on the host. Finds what contains the words of a program, in lists that backends gave. */
import { setImmediate } from "node:timers/promises";

/** A longer query is compared with so much of each place that the host would be held. */
export const LONGEST_MATCHED_QUERY = 200;
/** What a backend says of one item at greater length is searched from its beginning. */
const SEARCHED_OF_TEXT = 2000;
/** A few milliseconds, whatever is searched for in whatever. */
const CHARACTERS_PER_TURN = 200_000;

/** The items of which a text contains the query, whatever the case of its letters, in their order. */
export async function matching<Item>(
  items: readonly Item[],
  query: string,
  textsOf: (item: Item) => readonly (string | undefined)[],
): Promise<readonly Item[]> {
  const wanted = query.trim().toLowerCase();
  const found: Item[] = [];
  let read = 0;
  for (const item of items) {
    const texts = textsOf(item).flatMap((text) =>
      text === undefined ? [] : [text.slice(0, SEARCHED_OF_TEXT)],
    );
    if (texts.some((text) => text.toLowerCase().includes(wanted))) found.push(item);
    for (const { length } of texts) read += length + 1;
    if (read < CHARACTERS_PER_TURN) continue;
    read = 0;
    await setImmediate();
  }
  return found;
}
