import { expect, test } from "vitest";
import type { RunEvent } from "../contract/result.ts";
import { EventStream } from "./event-stream.ts";

const text = JSON.stringify({ list: Array.from({ length: 50_000 }, (_, at) => at) });
const start = (index: number): Extract<RunEvent, { type: "call-start" }> => ({
  type: "call-start",
  runId: "r",
  callId: `r:${index}`,
  index,
  tool: "t",
  input: JSON.parse(text),
});

test("[events:story] a reader that waits gets a large input as it is, one that comes late an equal one", async () => {
  const events = new EventStream();
  const waiting = events[Symbol.asyncIterator]();
  const first = waiting.next();
  const event = start(0);
  events.emit(event, text);
  events.emit(start(1), text);
  events.end();
  expect((await first).value).toBe(event);
  expect((await waiting.next()).value).toEqual(start(1));
  expect(await waiting.next()).toEqual({ done: true, value: undefined });
  const late: RunEvent[] = [];
  for await (const one of events) late.push(one);
  expect(late).toEqual([start(0), start(1)]);
  expect(late[0]).not.toBe(event);
});
