/** Looking into a run's past, and starting another from it. */
import { inspect, type Ledger, type ToolSet } from "codecell";
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

describe("inspect", () => {
  test("every call and delivery, with times and sizes [ledger:inspect]", async () => {
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
    expect(seen.deliveries.flatMap(({ calls }) => calls)).toEqual([0, 1, 2, 3]);
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

  test("at the first of two parallel calls, the future is made anew", async () => {
    const { tools, made } = shop();
    const fork = host.fork(await recorded(), { atCall: 1, outcome: { output: { price: 11 } }, tools });
    expect(await fork.result).toMatchObject({ value: [1, 11, 100, "sold out"] });
    // Both outcomes came together: what lay beside the forked one is kept.
    expect(made).toEqual(["fails"]);
  });

  test("another program goes on from the same past, if it repeats it", async () => {
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
});
