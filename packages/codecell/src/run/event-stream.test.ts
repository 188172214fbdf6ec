import { describe, expect, test } from "vitest";
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

describe("progress", () => {
  const part = (index: number, output: unknown): RunEvent => ({
    type: "call-progress",
    runId: "r",
    callId: `r:${index}`,
    index,
    tool: "t",
    output,
  });
  const log = (line: string): RunEvent => ({ type: "log", runId: "r", level: "log", text: line });
  const told = (event: RunEvent | undefined): unknown =>
    event?.type === "call-progress" ? event.output : event?.type === "log" ? event.text : event?.type;
  const read = async (events: AsyncIterable<RunEvent>): Promise<unknown[]> =>
    (await Array.fromAsync(events)).map(told);

  test("a late reader gets it in its place [events:story]", async () => {
    const events = new EventStream();
    for (const event of [part(0, 1), log("a"), part(1, 2), part(0, 3), log("b"), log("c"), part(1, 4)]) {
      events.emit(event);
    }
    events.end();
    for (const _ of [1, 2]) expect(await read(events)).toEqual([1, "a", 2, 3, "b", "c", 4]);
  });

  test("the listener and a reader that waits get all of it, a late reader the newest [host:memory]", async () => {
    const heard: unknown[] = [];
    const events = new EventStream((event) => {
      if (event.type === "call-progress") heard.push(event.output);
    });
    const [waiting, slow] = [events[Symbol.asyncIterator](), events[Symbol.asyncIterator]()];
    const first = slow.next();
    const all = Array.from({ length: 100 }, () => ["x".repeat(9000)]);
    const got: unknown[] = [];
    const emit = async (event: RunEvent): Promise<void> => {
      const next = waiting.next();
      events.emit(event);
      got.push(told((await next).value ?? undefined));
    };
    for (const [at, output] of all.entries()) {
      await emit(part(0, output));
      if (at === 50 || at === 90) await emit(log(`${at}`));
    }
    events.end();
    const placeOf = (output: unknown): unknown =>
      typeof output === "string" ? output : all.indexOf(output as never);
    expect(heard.map(placeOf)).toEqual([...all.keys()]);
    const places: unknown[] = [...all.keys()];
    expect(got.map(placeOf)).toEqual(places.toSpliced(91, 0, "90").toSpliced(51, 0, "50"));
    const late = ["50", 86, 87, 88, 89, 90, "90", 91, 92, 93, 94, 95, 96, 97, 98, 99];
    expect((await read(events)).map(placeOf)).toEqual(late);
    // A reader that falls behind gets what a late reader gets.
    expect(placeOf(told((await first).value ?? undefined))).toBe(0);
    expect((await read(slow)).map(placeOf)).toEqual(late);
  });

  test("the newest part is kept, however large it is, and of small ones thousands", async () => {
    const events = new EventStream();
    events.end();
    const odd = {
      get text(): string {
        throw new Error("Nobody can tell how long it is");
      },
    };
    for (const large of ["x".repeat(1_000_000), odd]) {
      for (const output of [1, large]) events.emit(part(0, output));
      const kept = await read(events);
      expect(kept.map((one) => one === large)).toEqual([true]);
    }
    for (let n = 0; n < 10_000; n++) events.emit(part(0, n));
    const kept = await read(events);
    expect(kept.length).toBeGreaterThan(1000);
    expect(kept.length).toBeLessThan(5000);
    expect(kept).toEqual(Array.from(kept, (_, at) => 10_000 - kept.length + at));
  });
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
