/**
 * Runs on the host. A fetch whose responses are bounded: a body as a whole, a stream of events event by event.
 *
 * - Of an event that is too large, whoever waits for it is told; the stream goes on.
 */
import { AnswerIdScanner } from "./answer-id-scanner.ts";
import { EitherByte } from "./either-byte.ts";
import { faultAnswer, FaultError } from "./faults.ts";
import { ENDLESS_BYTES } from "./message-lines.ts";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export function boundedFetch(responseBytes: number): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const isEvents = /^text\/event-stream\b/iu.test(response.headers.get("content-type") ?? "");
    const bounds = isEvents ? boundedEvents(responseBytes) : boundedBody(responseBytes);
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(bounds), { status, statusText, headers });
  };
}

export function boundedBody(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  let read = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      read += chunk.length;
      if (read > bytes) controller.error(new FaultError("too-large"));
      else controller.enqueue(chunk);
    },
  });
}

const CR = 0x0d;
const LF = 0x0a;

/** Two ends of lines end an event. */
const EVENT_END: Uint8Array = new TextEncoder().encode("\n\n");

export function boundedEvents(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  let parts: Uint8Array[] = [];
  let size = 0;
  let tooLarge: AnswerIdScanner | undefined;
  let lineEnds = 0;
  /** Of the piece before. */
  let last: number | undefined;
  type Controller = TransformStreamDefaultController<Uint8Array>;

  const add = (part: Uint8Array, controller: Controller): void => {
    size += part.length;
    if (tooLarge === undefined && size <= bytes) {
      parts.push(part);
      controller.enqueue(part);
      return;
    }
    if (tooLarge === undefined) {
      tooLarge = new AnswerIdScanner();
      for (const kept of parts) tooLarge.push(kept);
      parts = [];
      // What was passed on of the event is no message: its reader ignores it.
      controller.enqueue(EVENT_END);
    }
    tooLarge.push(part);
    if (size > bytes + ENDLESS_BYTES) controller.error(new FaultError("too-large"));
  };

  const endEvent = (controller: Controller): void => {
    const id = tooLarge?.id;
    parts = [];
    size = 0;
    tooLarge = undefined;
    if (id === undefined) return;
    controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(faultAnswer(id, "too-large"))}\n\n`));
  };

  return new TransformStream({
    transform: (chunk, controller) => {
      if (chunk.length === 0) return;
      const ends = new EitherByte(chunk, [LF, CR]);
      let from = 0;
      for (let at = ends.from(0), before = -1; at < chunk.length; before = at, at = ends.from(at + 1)) {
        const byte = chunk[at];
        if (at > before + 1) lineEnds = 0;
        // Two bytes may end one line.
        const isRest = byte === LF && last === CR && at === before + 1;
        if (!isRest) lineEnds++;
        last = byte;
        if (lineEnds < 2) continue;
        add(chunk.subarray(from, at + 1), controller);
        endEvent(controller);
        from = at + 1;
        lineEnds = 0;
      }
      if (chunk.at(-1) !== LF && chunk.at(-1) !== CR) lineEnds = 0;
      last = chunk.at(-1);
      if (from < chunk.length) add(chunk.subarray(from), controller);
    },
    flush: endEvent,
  });
}
