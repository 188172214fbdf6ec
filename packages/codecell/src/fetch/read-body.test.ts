import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { BodyTooLarge, orAborted, readBody } from "./read-body.ts";

const { signal } = new AbortController();

/** A body of chunks, and whether it was cancelled. */
function streamOf(...chunks: unknown[]): {
  readonly body: ReadableStream;
  readonly state: { cancelled: boolean };
} {
  const state = { cancelled: false };
  const body = new ReadableStream({
    pull(controller) {
      if (chunks.length === 0) controller.close();
      else controller.enqueue(chunks.shift());
    },
    cancel() {
      state.cancelled = true;
    },
  });
  return { body, state };
}

function responseOf(body: unknown, headers: Record<string, string> = {}, more: object = {}): Response {
  return { body, headers: new Headers(headers), ...more } as unknown as Response;
}

describe("a body", () => {
  test("is read whole, to the last byte that is allowed", async () => {
    const { body } = streamOf(new Uint8Array([1, 2]), new Uint8Array([]), new Uint8Array([3]));
    expect([...(await readBody(responseOf(body), 3, signal))]).toEqual([1, 2, 3]);
    expect(await readBody(new Response(null), 1, signal)).toHaveLength(0);
    const unchanged = new Response(null, { status: 304, headers: { "content-length": "9" } });
    expect(await readBody(unchanged, 1, signal)).toHaveLength(0);
  });

  test("that grows too large is cancelled, whatever it declared", async () => {
    const endless = streamOf(...Array.from({ length: 100 }, () => new Uint8Array(2)));
    await expect(readBody(responseOf(endless.body, { "content-length": "1" }), 3, signal)).rejects.toThrow(
      BodyTooLarge,
    );
    expect(endless.state.cancelled).toBe(true);
  });

  test("that declares to be too large is not read at all", async () => {
    const { body, state } = streamOf(new Uint8Array(1));
    await expect(readBody(responseOf(body, { "content-length": "4" }), 3, signal)).rejects.toThrow(
      BodyTooLarge,
    );
    expect(state.cancelled).toBe(true);
  });

  test("that is not made of bytes is refused", async () => {
    const { body, state } = streamOf("text", "more", "and more");
    await expect(readBody(responseOf(body), 9, signal)).rejects.toThrow("made of bytes");
    expect(state.cancelled).toBe(true);
  });

  test("that cannot be streamed is read and then measured", async () => {
    const whole = { arrayBuffer: async () => new Uint8Array([1, 2, 3]).buffer };
    expect([...(await readBody(responseOf(undefined, {}, whole), 3, signal))]).toEqual([1, 2, 3]);
    await expect(readBody(responseOf(undefined, {}, whole), 2, signal)).rejects.toThrow(BodyTooLarge);
    const text = { text: async () => "é" };
    expect(await readBody(responseOf(undefined, {}, text), 2, signal)).toHaveLength(2);
    await expect(readBody(responseOf(undefined, {}, text), 1, signal)).rejects.toThrow(BodyTooLarge);
    expect(await readBody(responseOf(undefined), 1, signal)).toHaveLength(0);
  });

  test("that never ends is cancelled when the signal aborts", async () => {
    const abort = new AbortController();
    let cancelled = false;
    const body = new ReadableStream({
      cancel: () => {
        cancelled = true;
      },
    });
    const reading = readBody(responseOf(body), 9, abort.signal);
    abort.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    await setImmediate();
    expect(cancelled).toBe(true);
  });
});

test("orAborted does not wait when the signal has already aborted", async () => {
  await expect(orAborted(new Promise(() => {}), AbortSignal.abort(new Error("gone")))).rejects.toThrow(
    "gone",
  );
  expect(await orAborted(Promise.resolve(7), signal)).toBe(7);
});
