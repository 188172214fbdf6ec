/**
 * Runs on the host. Reads the whole body of a response, within a bound of bytes.
 *
 * - Bytes are counted while the body streams, after decompression. A body that is too large is cancelled, never held.
 * - Reading ends when the signal aborts, also for a body that does not know the signal.
 */

/** The body has more bytes than allowed. */
export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";
}

/** The methods that read a body which cannot be streamed. */
interface WholeBody {
  readonly arrayBuffer?: () => Promise<ArrayBuffer>;
  readonly text?: () => Promise<string>;
}

export async function readBody(response: Response, most: number, signal: AbortSignal): Promise<Uint8Array> {
  const body: unknown = response.body;
  // Without a body, the declared length is that of a body which another request would get.
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

/** Releases the connection of a response whose body nobody reads. */
export function cancelBody(response: Response): void {
  const body: unknown = response.body;
  if (isReadable(body)) void body.cancel().catch(() => {});
}

/** Settles like the promise, or rejects when the signal aborts first. */
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
