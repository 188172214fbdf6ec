import { describe, expect, test } from "vitest";
import { boundedBody, boundedEvents } from "./bounded-fetch.ts";

async function passed(
  text: string,
  size: number,
  through: TransformStream<Uint8Array, Uint8Array>,
): Promise<string> {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    Uint8Array.from(bytes.subarray(index * size, (index + 1) * size)),
  );
  return new Response(ReadableStream.from(pieces).pipeThrough(through)).text();
}

/** What a reader makes of the events that are messages. */
function messagesOf(text: string): unknown[] {
  return text.split(/\n\n|\r\n\r\n/u).flatMap((event) => {
    try {
      return [JSON.parse(/data: (.*)/u.exec(event)?.[1] ?? "")] as unknown[];
    } catch {
      return [];
    }
  });
}

describe("a stream of events", () => {
  const large = JSON.stringify({ result: "x".repeat(200), id: 7 });

  test.each([
    ["\n", "a"],
    ["\r\n", "a"],
    ["\r", "a"],
  ])("passes as it is, whatever ends its lines: %j", async (end) => {
    const text = [": hello", "", "event: message", 'data: {"id":1}', "", 'data: {"id":2}', "", ""].join(end);
    for (const size of [1, 2, 3, 1000]) expect(await passed(text, size, boundedEvents(60))).toBe(text);
  });

  test("says of an event that is too large whose answer it was, and goes on", async () => {
    for (const end of ["\n", "\r\n"]) {
      const text = [`data: {"id":1}`, "", `data: ${large}`, "", `data: {"id":2}`, "", ""].join(end);
      for (const size of [1, 2, 3, 50, 1000]) {
        const messages = messagesOf(await passed(text, size, boundedEvents(60)));
        expect(messages).toMatchObject([{ id: 1 }, { id: 7, error: { message: "too-large" } }, { id: 2 }]);
      }
    }
  });

  test("also says so at its end", async () => {
    const text = `data: ${large}`;
    expect(messagesOf(await passed(text, 50, boundedEvents(60)))).toMatchObject([{ id: 7 }]);
  });
});

describe("a body", () => {
  test("passes as long as it is small enough", async () => {
    expect(await passed("x".repeat(60), 7, boundedBody(60))).toHaveLength(60);
    await expect(passed("x".repeat(61), 7, boundedBody(60))).rejects.toThrow("too-large");
  });
});
