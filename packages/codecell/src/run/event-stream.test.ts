import { expect, test } from "vitest";
import { largestTurnMs } from "../../../../test/fuzz/thread-time.ts";
import { nastyJson } from "../../../../test/fuzz/nasty-values.ts";
import { Random } from "../../../../test/fuzz/random.ts";
import { type RunEvent, summarizeOutcome } from "../contract/events.ts";
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

test("the first of many small inputs are kept as values, the others as texts", async () => {
  const events = new EventStream();
  const inputText = JSON.stringify(Array.from({ length: 1000 }, () => ({})));
  const emitted = Array.from({ length: 100 }, (_, index) => ({
    ...start(index),
    input: JSON.parse(inputText),
  }));
  for (const one of emitted) events.emit(one, inputText);
  events.end();
  const late: RunEvent[] = [];
  for await (const one of events) late.push(one);
  expect(late).toEqual(emitted);
  const kept = late.filter((one, index) => one === emitted[index]);
  expect(kept.length * inputText.length).toBeGreaterThan(100_000);
  expect(kept.length * inputText.length).toBeLessThanOrEqual(131_072);
});

test("a waiting reader gets every cause, a late reader only the causes of the last calls [host:errors]", async () => {
  const end = (index: number, cause: unknown): RunEvent => {
    const failure = { code: "tool_failed", name: "Error", message: `${index}` } as const;
    const outcome = summarizeOutcome({ kind: "failure", call: index, failure }, 0, false, cause);
    return { type: "call-end", runId: "r", callId: `r:${index}`, index, tool: "t", durationMs: 1, outcome };
  };
  const causeOf = (event: RunEvent | undefined): unknown =>
    event?.type === "call-end" && event.outcome.status === "failed" ? event.outcome.cause : undefined;
  const events = new EventStream();
  const reader = events[Symbol.asyncIterator]();
  const causes = Array.from({ length: 100 }, (_, index) => new Error(`${index}`));
  for (const [index, cause] of causes.entries()) {
    const next = reader.next();
    events.emit(end(index, cause), "x".repeat(10_000));
    expect(causeOf((await next).value ?? undefined)).toBe(cause);
  }
  events.emit(end(100, undefined), "x".repeat(10_000));
  events.end();
  const late = await Array.fromAsync(events);
  expect(late).toEqual([...causes, undefined].map((cause, index) => end(index, cause)));
  expect(late.map(causeOf)).toEqual([...causes.fill(undefined as never, 0, 88), undefined]);
});

test("[host:short-turns] a reader that comes late does not hold the thread", async () => {
  let seed = 0;
  const prepare = (): (() => unknown) => {
    const events = new EventStream();
    for (let index = 0; index < 100; index++) {
      events.emit({ ...start(0), index, input: null }, nastyJson(new Random(++seed), 60_000, "many fields"));
    }
    events.end();
    return async () => {
      for await (const _ of events);
    };
  };
  expect(await largestTurnMs(prepare, { attempts: 4, enough: 50 })).toBeLessThan(50);
});
