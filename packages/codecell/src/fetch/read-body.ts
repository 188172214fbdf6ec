/**
 * Read body: the body of a response, whole, within a bound of bytes.
 *
 * - Counted while it streams, after decompression: what is too large is cancelled, never held.
 * - Ends when the signal does, also for bodies that know nothing of it.
 */

/** It has more bytes than it may have. */
export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";
}

/** What a body that cannot be streamed is read by. */
interface WholeBody {
  readonly arrayBuffer?: () => Promise<ArrayBuffer>;
  readonly text?: () => Promise<string>;
}

export async function readBody(response: Response, most: number, signal: AbortSignal): Promise<Uint8Array> {
  const body: unknown = response.body;
  // Then a declared length is that of the body another request would get.
  if (body === null) return new Uint8Array();
  const declared = Number(response.headers.get("content-length") ?? 0);
  if (declared > most) {
    cancelBody(response);
    throw new BodyTooLarge();
  }
  if (isReadable(body)) return readStream(body, most, signal);
  const whole = await readWhole(response, signal);
  if (whole.byteLength > most) throw new BodyTooLarge();
  return whole;
}

/** Lets go of the connection of a response whose body nobody reads. */
export function cancelBody(response: Response): void {
  const body: unknown = response.body;
  if (isReadable(body)) void body.cancel().catch(() => {});
}

/** What a promise comes to, or a rejection when the signal aborts first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}

async function readStream(
  stream: ReadableStream<unknown>,
  most: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await orAborted(reader.read(), signal);
      if (done) return Buffer.concat(chunks, bytes);
      if (!(value instanceof Uint8Array)) throw new TypeError("a body has to be made of bytes");
      bytes += value.byteLength;
      if (bytes > most) throw new BodyTooLarge();
      chunks.push(value);
    }
  } catch (error) {
    void reader.cancel(error).catch(() => {});
    throw error;
  }
}

async function readWhole(response: WholeBody, signal: AbortSignal): Promise<Uint8Array> {
  if (typeof response.arrayBuffer === "function") {
    return new Uint8Array(await orAborted(response.arrayBuffer(), signal));
  }
  if (typeof response.text === "function") {
    return new TextEncoder().encode(await orAborted(response.text(), signal));
  }
  return new Uint8Array();
}

function isReadable(body: unknown): body is ReadableStream<unknown> {
  return (
    typeof body === "object" &&
    body !== null &&
    typeof (body as Partial<ReadableStream>).getReader === "function"
  );
}
