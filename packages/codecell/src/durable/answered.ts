/**
 * Runs on the host. Bounds how long a host waits for its store.
 *
 * - A request that the store did not answer in time may still be carried out. So a host repeats only requests that do
 *   no harm when they are carried out twice.
 */

/** Longer than stores themselves keep trying, and shorter than most runs may take. */
const ANSWER_MS = 15_000;

export class Unanswered extends Error {
  override readonly name = "Unanswered";
}

/** Gives the store's answer. Rejects with Unanswered if the store takes too long. */
export async function answered<T>(asked: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Unanswered("No answer in time")), ANSWER_MS);
  try {
    return await Promise.race([asked, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
