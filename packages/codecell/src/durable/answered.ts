/**
 * How long a store is waited for.
 *
 * - What it did not answer in time may still happen: only what does no harm twice may be asked for again.
 */

/** Longer than stores themselves try, and shorter than most runs may take. */
const ANSWER_MS = 15_000;

export class Unanswered extends Error {
  override readonly name = "Unanswered";
}

/** What the store answers; rejects when it takes too long. */
export async function answered<T>(asked: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Unanswered("No answer in time")), ANSWER_MS);
  try {
    return await Promise.race([asked, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
