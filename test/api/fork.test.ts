/** Looking into a run's past, and starting another from it. */
import type { Ledger, ToolSet } from "codecell";
import { inspect } from "codecell/ledger";
import { describe, expect, test } from "vitest";
import { host } from "./harness.ts";

function shop(): { readonly tools: ToolSet; readonly made: string[] } {
  const made: string[] = [];
  const priced = (name: string, price: number): ToolSet[string] => ({
    execute: () => {
      made.push(name);
      return { price };
    },
  });
  return {
    made,
    tools: {
      first: priced("first", 1),
      left: priced("left", 10),
      right: priced("right", 100),
      fails: {
        execute: () => {
          made.push("fails");
          throw new Error("sold out");
        },
      },
    },
  };
}

const source = `
  const a = await tools.first({});
  const [b, c] = await Promise.all([tools.left({}), tools.right({})]);
  let d = 0;
  try { d = (await tools.fails({})).price } catch (error) { d = error.message }
  return [a.price, b.price, c.price, d];`;

async function recorded(): Promise<Ledger> {
  const handle = host.start({ source, tools: shop().tools });
  expect(await handle.result).toMatchObject({ value: [1, 10, 100, "sold out"] });
  return handle.ledger();
}

/** The same with both parallel outcomes in one delivery; on a busy machine they may come in two. */
async function recordedTogether(): Promise<Ledger> {
  const ledger = await recorded();
  const [first, ...rest] = ledger.deliveries;
  const last = rest.pop();
  const clock = rest.at(-1)?.clock;
  if (first === undefined || last === undefined || clock === undefined) throw new Error("It has three");
  return { ...ledger, deliveries: [first, { clock, items: rest.flatMap(({ items }) => items) }, last] };
}

describe("inspect", () => {
  test("shows every call and delivery, with times and sizes [ledger:inspect]", async () => {
    const ledger = await recorded();
    const seen = inspect(ledger);
    expect(seen).toMatchObject({
      runId: ledger.runId,
      startedAt: ledger.clock,
      sourceBytes: source.length,
      calls: [
        {
          index: 0,
          tool: "first",
          inputBytes: 2,
          outcome: { status: "completed", outputBytes: 11, delivery: 0 },
        },
        { index: 1, tool: "left", outcome: { outputBytes: 12 } },
        { index: 2, tool: "right", outcome: { outputBytes: 13 } },
        { index: 3, tool: "fails", outcome: { status: "failed", failure: { message: "sold out" } } },
      ],
    });
    const delivered = seen.deliveries.flatMap(({ calls }) => calls);
    expect([delivered[0], delivered.at(-1)], "one after the other").toEqual([0, 3]);
    expect(
      delivered.toSorted((a, b) => a - b),
      "two side by side",
    ).toEqual([0, 1, 2, 3]);
    for (const { afterMs } of seen.deliveries) expect(afterMs).toBeGreaterThanOrEqual(0);
  });
});

describe("fork", () => {
  test("shares the past, and makes the call anew [ledger:fork]", async () => {
    const { tools, made } = shop();
    const fork = host.fork(await recorded(), { atCall: 3, tools });
    expect(await fork.result).toMatchObject({ value: [1, 10, 100, "sold out"] });
    expect(made).toEqual(["fails"]);
  });

  test("gives the call another output, or another failure [ledger:fork]", async () => {
    const ledger = await recorded();
    const { tools, made } = shop();
    const paid = host.fork(ledger, { atCall: 3, outcome: { output: { price: 7 } }, tools });
    expect(await paid.result).toMatchObject({ value: [1, 10, 100, 7] });
    const failed = host.fork(ledger, { atCall: 3, outcome: { error: { message: "closed" } }, tools });
    expect(await failed.result).toMatchObject({ value: [1, 10, 100, "closed"] });
    expect(made).toEqual([]);
  });

  test("at the first of two parallel calls, everything after it is made anew", async () => {
    const { tools, made } = shop();
    const ledger = await recordedTogether();
    const fork = host.fork(ledger, { atCall: 1, outcome: { output: { price: 11 } }, tools });
    expect(await fork.result).toMatchObject({ value: [1, 11, 100, "sold out"] });
    // Both outcomes came in one delivery, so the outcome beside the forked one is kept.
    expect(made).toEqual(["fails"]);
  });

  test("another program goes on from the same past if it repeats that past", async () => {
    const ledger = await recorded();
    const { tools, made } = shop();
    const other = source.replace("return [", "return ['new', ");
    expect(await host.fork(ledger, { atCall: 3, source: other, tools }).result).toMatchObject({
      value: ["new", 1, 10, 100, "sold out"],
    });
    expect(made).toEqual(["fails"]);
    const different = source.replace("tools.left", "tools.right");
    expect(await host.fork(ledger, { atCall: 3, source: different, tools }).result).toMatchObject({
      failure: { code: "replay_diverged" },
    });
  });

  test.each([
    ["fewer calls", "await tools.first({}); return 1"],
    ["none, and returns", "return 1"],
    ["none, and waits", "await new Promise(() => {})"],
  ])("a program that makes %s has not repeated the past, and nothing is called", async (_name, other) => {
    const ledger = await recorded();
    const { tools, made } = shop();
    const diverged = { status: "failed", failure: { code: "replay_diverged" } };
    expect(await host.fork(ledger, { atCall: 3, source: other, tools }).result).toMatchObject(diverged);
    expect(await host.replay({ ...ledger, source: other }).result).toMatchObject(diverged);
    expect(made).toEqual([]);
  });

  test("a fork can be forked, and replayed", async () => {
    const { tools } = shop();
    const fork = host.fork(await recorded(), { atCall: 3, outcome: { output: { price: 7 } }, tools });
    await fork.result;
    expect(fork.ledger().runId).toBe(fork.runId);
    expect(await host.replay(fork.ledger()).result).toMatchObject({ value: [1, 10, 100, 7] });
    const again = host.fork(fork.ledger(), { atCall: 0, outcome: { output: { price: 2 } }, tools });
    expect(await again.result).toMatchObject({ value: [2, 10, 100, "sold out"] });
  });

  test.each([-1, 4, 0.5, Number.NaN])("a call that was not made is refused: %s", async (atCall) => {
    const ledger = await recorded();
    expect(() => host.fork(ledger, { atCall })).toThrow(RangeError);
  });

  test("a source over the run's limit is refused, as at a start, and not stored", async () => {
    const handle = host.start({
      source: "return await tools.first({})",
      tools: shop().tools,
      limits: { sourceBytes: 40 },
    });
    await handle.result;
    const { tools, made } = shop();
    const exact = "return (await tools.first({})).price //é";
    const fork = (other: string) => host.fork(handle.ledger(), { atCall: 0, source: other, tools });
    expect(await fork(exact.slice(0, -1)).result).toMatchObject({ value: 1 });
    const refused = fork(exact);
    expect(await refused.result).toMatchObject({
      failure: { code: "source_limit", message: expect.stringContaining("41 bytes, at most 40") as string },
    });
    expect(refused.ledger()).toMatchObject({ source: "", calls: [], deliveries: [] });
    expect(made).toEqual(["first"]);
  });

  test("options of the wrong kind are refused", async () => {
    const ledger = await recorded();
    const fork = (options: object) => () => host.fork(ledger, { atCall: 3, ...options });
    expect(fork({ source: 5 })).toThrow("Cannot fork a run: source must be a string");
    expect(fork({ source: null })).toThrow("Cannot fork a run: source must be a string");
    expect(fork({ scope: 5 })).toThrow("Cannot fork a run: scope must be a string");
    expect(fork({ tools: { pay: {} } })).toThrow('Cannot fork a run: tool "pay" has no execute function');
  });

  test.each([
    ["nothing", null],
    ["a text", "done"],
    ["an empty outcome", {}],
    ["no output", { output: undefined }],
    ["an output that is not JSON", { output: 1n }],
    ["a null error", { error: null }],
    ["an error without a message", { error: { name: "Error" } }],
    ["an error whose name is not a text", { error: { name: 5, message: "no" } }],
  ])("an outcome that no call can have is refused: %s", async (_name, outcome) => {
    const ledger = await recorded();
    expect(() => host.fork(ledger, { atCall: 3, outcome: outcome as never })).toThrow(
      /^Cannot fork with this out(come|put): it/u,
    );
  });

  test("an output that exceeds limits.callOutputBytes is refused", async () => {
    const handle = host.start({ source, tools: shop().tools, limits: { callOutputBytes: 20 } });
    await handle.result;
    const fork = (length: number) =>
      host.fork(handle.ledger(), { atCall: 0, outcome: { output: "x".repeat(length) }, tools: shop().tools });
    expect((await fork(18).result).status).toBe("completed");
    expect(() => fork(19)).toThrow(RangeError);
  });

  test.each([
    ["nothing", () => undefined],
    ["a text", () => "ledger"],
    ["no source", ({ source: _source, ...rest }: Ledger) => rest],
    ["no list of calls", (ledger: Ledger) => ({ ...ledger, calls: {} })],
    ["a delivery without a clock", (ledger: Ledger) => ({ ...ledger, deliveries: [{ items: [] }] })],
    ["a stop without a reason", (ledger: Ledger) => ({ ...ledger, stopped: {} })],
  ])("an invalid ledger is neither forked nor replayed: %s", async (_name, spoil) => {
    const spoilt = spoil(await recorded()) as Ledger;
    expect(() => host.fork(spoilt, { atCall: 0 })).toThrow("Cannot fork a run: this is not a ledger");
    expect(() => host.replay(spoilt)).toThrow("Cannot replay a run: this is not a ledger");
  });

  test("a ledger with the outcome of a call that it lacks is not forked: the call would be made again", async () => {
    const ledger = await recorded();
    const less = { ...ledger, calls: ledger.calls.slice(0, 3) };
    expect(() => host.fork(less, { atCall: 0 })).toThrow("Cannot fork a run: this is not a ledger");
  });

  test("a ledger of another version is refused, and the message says so", async () => {
    const later = { ...(await recorded()), version: 3 } as unknown as Ledger;
    expect(() => host.fork(later, { atCall: 0 })).toThrow(
      "Cannot fork a ledger of version 3: only 2 is known",
    );
    expect(() => host.replay(later)).toThrow("Cannot replay a ledger of version 3");
  });

  test("the ledger of a run that was stopped can be forked", async () => {
    const { tools, made } = shop();
    const stop = new AbortController();
    const waiting: ToolSet = { ...tools, left: { execute: () => (stop.abort(), new Promise(() => {})) } };
    const handle = host.start({ source, tools: waiting, signal: stop.signal });
    expect(await handle.result).toMatchObject({ failure: { code: "aborted" } });
    const fork = host.fork(handle.ledger(), { atCall: 1, tools });
    expect(await fork.result).toMatchObject({ value: [1, 10, 100, "sold out"] });
    expect(made).toContain("left");
  });
});

describe("timers of a fork", () => {
  const firings = ({ deliveries }: Ledger): number =>
    deliveries.flatMap(({ items }) => items).filter(({ kind }) => kind === "timer").length;
  const waiting = `
    await new Promise((resolve) => setTimeout(resolve, 200));
    await tools.first({});
    await new Promise(() => {});`;

  test("that fired before the call do not fire again [ledger:fork]", async () => {
    const { tools } = shop();
    const run = host.start({ source: waiting, tools });
    expect(await run.result).toMatchObject({ failure: { code: "deadlock" } });
    const fork = host.fork(run.ledger(), { atCall: 0, tools });
    expect(await fork.result).toMatchObject({ failure: { code: "deadlock" } });
    expect(firings(fork.ledger())).toBe(1);
  });

  test("that were still set go on, and only these [ledger:fork]", async () => {
    const { tools } = shop();
    const repeating = `
      let times = 0;
      let next = () => {};
      const interval = setInterval(() => { times++; next() }, 20);
      const until = (wanted) => new Promise((resolve) => { next = () => times >= wanted && resolve() });
      for (let n = 0; n < 500; n++) clearTimeout(setTimeout(() => {}, 20_000));
      await until(3);
      await tools.first({});
      await until(6);
      clearInterval(interval);
      return "done";`;
    const run = host.start({ source: repeating, tools });
    expect(await run.result).toMatchObject({ value: "done" });
    const fork = host.fork(run.ledger(), { atCall: 0, tools });
    expect(await fork.result).toMatchObject({ value: "done" });
  });

  test("of another program fire, also under the number of one that had fired [ledger:fork]", async () => {
    const { tools } = shop();
    const run = host.start({ source: waiting, tools });
    expect(await run.result).toMatchObject({ failure: { code: "deadlock" } });
    const other = `
      const { price } = await tools.first({});
      await new Promise((resolve) => setTimeout(resolve, 1));
      return price;`;
    const outcome = { output: { price: 7 } };
    expect(await host.fork(run.ledger(), { atCall: 0, source: other, outcome, tools }).result).toMatchObject({
      value: 7,
    });
  });
});
