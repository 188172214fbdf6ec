/** Runs on the host. Drain reads an output that comes in parts, and gives the last part. */

import { isTurnLong, nextTurn } from "../loop/turn.ts";

/** Draining stops when `hasAsked` says so before a part is taken, or when the call was aborted. */
interface Draining {
  readonly hasAsked: () => boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onPart?: ((part: unknown) => void) | undefined;
}

export async function drain(
  parts: AsyncIterable<unknown>,
  { hasAsked, signal, onPart }: Draining,
): Promise<unknown> {
  let last: unknown;
  for await (const part of parts) {
    // Whoever keeps a large part looks through it.
    while (isTurnLong()) await nextTurn();
    // Leaving the loop tells the iterable to stop.
    if (hasAsked()) break;
    last = part;
    onPart?.(part);
    if (signal?.aborted === true) break;
  }
  return last;
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
