/** Programs that give control back and go on when their run is resumed. */
import {
  type AnyTool,
  createHost,
  type ResumeOptions,
  type RunEvent,
  type RunResult,
  type Suspension,
  type ToolSet,
} from "codecell";
import { inspect } from "codecell/ledger";
import { createMemoryStore } from "codecell/store";
import { describe, expect, test } from "vitest";
import { echo, failureOf, host, valueOf } from "./harness.ts";
import { suspensionOf } from "./suspension-of.ts";

const mayYield = true;
const sealKey = new Uint8Array(32).fill(6);

async function suspend(source: string, tools: ToolSet = {}): Promise<Suspension> {
  return suspensionOf(await host.start({ source, tools, mayYield }).result);
}

function resume(token: string, options: ResumeOptions = {}): Promise<RunResult> {
  return host.resume({ token, ...options }).result;
}

const asking: AnyTool = { execute: (_input, call) => call.resolution ?? call.suspend("?") };
const ask: ToolSet = { ask: asking };

describe("a program that yields", () => {
  test("its run is suspended with the reason, and goes on where it was [suspend:yield]", async () => {
    const source = `
      const local = { n: 1 };
      console.log("before");
      const ended = await yield_control("have a look");
      console.log("after");
      return [local, ended === undefined, typeof yield_control];`;
    const first = await host.start({ source, mayYield }).result;
    expect(first.logs).toEqual([{ level: "log", text: "before" }]);
    const { token, pending, yielded } = suspensionOf(first);
    expect([pending, yielded]).toEqual([[], ["have a look"]]);
    expect(await resume(token)).toMatchObject({
      status: "completed",
      runId: first.runId,
      value: [{ n: 1 }, true, "function"],
      logs: [{ text: "after" }],
    });
  });

  test("it may yield often, each time in a suspension of its own [suspend:yield]", async () => {
    const source = "for (const n of [1, 2, 3]) await yield_control('step ' + n); return 'done'";
    let result = await host.start({ source, mayYield }).result;
    const tokens = new Set<string>();
    for (const reason of ["step 1", "step 2", "step 3"]) {
      const { token, yielded } = suspensionOf(result);
      expect(yielded).toEqual([reason]);
      tokens.add(token);
      result = await resume(token);
    }
    expect(result).toMatchObject({ status: "completed", value: "done" });
    expect(tokens.size).toBe(3);
  });

  test("several yields at once are one suspension, and one resumption ends them all [suspend:yield]", async () => {
    const source = `
      const ended = await Promise.all([yield_control("a"), yield_control(), yield_control("b")]);
      return ended.map((one) => one === undefined)`;
    const { token, yielded } = await suspend(source);
    expect(yielded).toEqual(["a", "", "b"]);
    expect(await resume(token)).toMatchObject({ status: "completed", value: [true, true, true] });
  });

  test("a program that does not await its yield is suspended before it completes", async () => {
    const { token, yielded } = await suspend("void yield_control('by the way'); return 5");
    expect(yielded).toEqual(["by the way"]);
    expect(await resume(token)).toMatchObject({ status: "completed", value: 5 });
  });

  test("timers stand still meanwhile", async () => {
    const source = `
      let rung = false;
      const ring = new Promise((resolve) => setTimeout(() => resolve(rung = true), 300));
      await yield_control();
      const early = rung;
      await ring;
      return [early, rung]`;
    expect(await resume((await suspend(source)).token)).toMatchObject({ value: [false, true] });
  });

  test("calls beside it go on, and are made once [suspend:yield]", async () => {
    let finish: (value: string) => void = () => {};
    let calls = 0;
    const tools: ToolSet = {
      slow: {
        execute: () => {
          calls++;
          return new Promise((resolve) => {
            finish = resolve;
          });
        },
      },
    };
    const source = "return (await Promise.all([tools.slow({}), yield_control('meanwhile')]))[0]";
    const { token, pending, yielded } = await suspend(source, tools);
    expect([pending, yielded]).toEqual([[], ["meanwhile"]]);
    const resumed = resume(token, { tools });
    finish("done");
    expect(await resumed).toMatchObject({ status: "completed", value: "done" });
    expect(calls).toBe(1);
  });

  test("a yield takes no place among the calls that execute or wait for their turn", async () => {
    const limits = { callsInFlight: 1, callsQueued: 0 };
    const source = "return (await Promise.all([yield_control(), tools.echo(1), yield_control()]))[1]";
    const { token, yielded } = suspensionOf(
      await host.start({ source, tools: echo, mayYield, limits }).result,
    );
    expect(yielded).toEqual(["", ""]);
    expect(await resume(token, { tools: echo })).toMatchObject({ status: "completed", value: 1 });
  });

  test("any host with the key can end its yields, from a snapshot or from the ledger", async () => {
    await using here = createHost({ workers: 1, sealKey });
    await using there = createHost({ workers: 1, sealKey });
    const tools: ToolSet = { big: { execute: () => "x".repeat(1000) } };
    for (const calls of [1, 60]) {
      const source = `
        let size = 0;
        for (let n = 0; n < ${calls}; n++) size += (await tools.big({})).length;
        const kept = Math.random();
        await yield_control("halfway");
        await yield_control("again");
        return [size, kept === kept]`;
      const first = suspensionOf(await here.start({ source, tools, mayYield }).result);
      const second = suspensionOf(await there.resume({ token: first.token, tools }).result);
      expect([first.yielded, second.yielded]).toEqual([["halfway"], ["again"]]);
      expect(await here.resume({ token: second.token, tools }).result).toMatchObject({
        status: "completed",
        value: [calls * 1000, true],
      });
    }
  });
});

describe("yields and calls that wait for a decision", () => {
  const source = `
    const asked = [tools.ask({ n: 1 }), tools.ask({ n: 2 })];
    await yield_control("both asked");
    console.log("went on");
    return await Promise.all(asked)`;

  test("a resumption without decisions ends the yield, the calls stay pending [suspend:yield]", async () => {
    const first = await suspend(source, ask);
    expect(first.yielded).toEqual(["both asked"]);
    expect(first.pending).toMatchObject([{ input: { n: 1 } }, { input: { n: 2 } }]);
    const resumed = await resume(first.token, { tools: ask });
    expect(resumed.logs).toMatchObject([{ text: "went on" }]);
    const second = suspensionOf(resumed);
    expect(second.yielded).toEqual([]);
    expect(second.pending).toEqual(first.pending);
    const resolutions = Object.fromEntries(
      second.pending.map(({ callId }, index) => [callId, { resolution: index }]),
    );
    expect(await resume(second.token, { tools: ask, resolutions })).toMatchObject({ value: [0, 1] });
  });

  test("a resumption with some of the decisions ends the yield too", async () => {
    const first = await suspend(source, ask);
    const [one, other] = first.pending.map(({ callId }) => callId) as [string, string];
    const resolutions = { [other]: { resolution: "bo" } };
    const second = suspensionOf(await resume(first.token, { tools: ask, resolutions }));
    expect([second.yielded, second.pending.map(({ callId }) => callId)]).toEqual([[], [one]]);
    const last = { tools: ask, resolutions: { [one]: { resolution: "ana" } } };
    expect(await resume(second.token, last)).toMatchObject({ value: ["ana", "bo"] });
  });

  test("a resolution for a yield is refused, and nothing changes", async () => {
    const handle = host.start({ source: "await yield_control(); return 1", mayYield });
    const { token } = suspensionOf(await handle.result);
    const callId = `${handle.runId}:0`;
    for (const resolution of [{ resolution: null }, { deny: "no" }]) {
      const refused = await host.resume({ token, resolutions: { [callId]: resolution } }).result;
      expect(refused).toMatchObject({
        failure: {
          code: "resume_invalid",
          message: expect.stringContaining(`no call "${callId}" is pending, there are none`),
        },
      });
    }
    expect(await resume(token)).toMatchObject({ value: 1 });
  });
});

describe("what a program may yield with", () => {
  test.each(["5", "null", "{}", "['x']", "true", "Symbol()", "() => 1", "new String('x')", "1n"])(
    "%s is refused with a TypeError that the program can catch",
    async (reason) => {
      const source = `
        try { await yield_control(${reason}) } catch (error) { return [error instanceof TypeError, error.message] }`;
      expect(await valueOf(source, { mayYield })).toEqual([
        true,
        expect.stringMatching(/^Cannot yield: the reason is of type \w+, expected a string or nothing$/u),
      ]);
    },
  );

  test("a reason is bounded like the input of a call", async () => {
    const limits = { callInputBytes: 20 };
    const source = `
      try { await yield_control("x".repeat(19)) } catch (error) { console.log(error.code) }
      await yield_control("x".repeat(18))`;
    const result = await host.start({ source, mayYield, limits }).result;
    expect(result.logs).toMatchObject([{ text: "input_limit" }]);
    expect(suspensionOf(result).yielded).toEqual(["x".repeat(18)]);
  });

  test.each([['text with "quotes" and \\'], ["é\u{1f600}\u2028"], ["\ud800"], ["__proto__"], [""]])(
    "%j comes back as it was",
    async (reason) => {
      const { token, yielded } = await suspend(`await yield_control(${JSON.stringify(reason)}); return 1`);
      expect(yielded).toEqual([reason]);
      expect(await resume(token)).toMatchObject({ value: 1 });
    },
  );

  test("a program that changes promises and texts can still yield", async () => {
    const source = `
      const mine = () => { throw new Error("mine") };
      Promise.prototype.then = JSON.stringify = JSON.parse = String.prototype.toJSON = mine;
      Object.prototype.toJSON = Array.prototype.push = mine;
      await yield_control("still");
      return "ended"`;
    const { token, yielded } = await suspend(source);
    expect(yielded).toEqual(["still"]);
    expect((await resume(token)).status).toBe("completed");
  });
});

describe("a run that may not yield", () => {
  test("has no such function, and no way to yield [suspend:yield]", async () => {
    const source = `
      const error = await tools.yield_control("x").catch((error) => error);
      return [typeof yield_control, "yield_control" in globalThis, error.code]`;
    for (const options of [{}, { mayYield: false }]) {
      expect(await valueOf(source, { tools: echo, ...options })).toEqual([
        "undefined",
        false,
        "unknown_tool",
      ]);
    }
    expect(await failureOf("await yield_control()")).toMatchObject({ code: "guest_error" });
  });

  test("may have a tool with that name, like any other tool", async () => {
    const tools: ToolSet = { yield_control: asking };
    const result = await host.start({ source: "return await tools.yield_control({})", tools }).result;
    const { token, pending, yielded } = suspensionOf(result);
    expect(yielded).toEqual([]);
    expect(pending).toMatchObject([{ tool: "yield_control" }]);
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: 7 } };
    expect(await resume(token, { tools, resolutions })).toMatchObject({ value: 7 });
  });
});

describe("the name", () => {
  const tools: ToolSet = { yield_control: { execute: () => 1 } };
  const refusal = 'no tool can be named "yield_control"';
  const refused = { failure: { code: "resume_invalid", message: expect.stringContaining(refusal) } };

  test("no tool can have it if the program may yield, not at the start, in a resume or in a fork", async () => {
    expect(() => host.start({ source: "", tools, mayYield })).toThrow(`Cannot start a run: its program`);
    const handle = host.start({ source: "await yield_control(); return 1", mayYield });
    const { token } = suspensionOf(await handle.result);
    expect(await resume(token, { tools })).toMatchObject(refused);
    expect(() => host.fork(handle.ledger(), { atCall: 0, tools })).toThrow(refusal);
    expect(await resume(token)).toMatchObject({ value: 1 });
  });

  test("a stored run refuses such a tool too, and can still be resumed", async () => {
    await using store = createMemoryStore();
    await using keeping = createHost({ workers: 1, store });
    const { runId: id } = await keeping.start({ source: "await yield_control(); return 1", mayYield }).result;
    expect(await keeping.resume({ id, tools }).result).toMatchObject(refused);
    expect(await keeping.resume({ id }).result).toMatchObject({ value: 1 });
  });

  test("it is not in `tools`, and calling it there says where it is", async () => {
    const source = `
      const error = await tools.yield_control("x").catch((error) => error);
      return [Object.keys(tools), "yield_control" in tools, error.code, error.message]`;
    expect(await valueOf(source, { tools: echo, mayYield })).toEqual([
      ["echo"],
      false,
      "unknown_tool",
      'Cannot call tool "yield_control": no such tool, it is a function of its own: await yield_control()',
    ]);
  });

  test("mayYield is a boolean or nothing", () => {
    for (const odd of [1, "yes", null, {}]) {
      expect(() => host.start({ source: "", mayYield: odd as never })).toThrow("mayYield must be a boolean");
    }
  });
});

describe("a yield is a call of the ledger", () => {
  test("it counts as a call, and neither policy nor events see it", async () => {
    const asked: string[] = [];
    const options = {
      tools: echo,
      authorize: ({ tool }: { readonly tool: string }) => {
        asked.push(tool);
        return "allow" as const;
      },
    };
    const source = "await tools.echo(1); await yield_control('x'); return await tools.echo(2)";
    const first = host.start({ source, mayYield, ...options });
    const second = host.resume({ token: suspensionOf(await first.result).token, ...options });
    expect(await second.result).toMatchObject({ value: 2, stats: { calls: 3 } });
    expect(asked).toEqual(["echo", "echo"]);
    const told: RunEvent[] = [];
    for (const { events } of [first, second]) for await (const event of events) told.push(event);
    expect(told.flatMap((event) => ("tool" in event ? [`${event.type} ${event.index}`] : []))).toEqual([
      "call-start 0",
      "call-end 0",
      "call-start 2",
      "call-end 2",
    ]);
    const failure = await failureOf("await tools.echo(1); await yield_control('x')", {
      tools: echo,
      mayYield,
      limits: { calls: 1 },
    });
    expect(failure.code).toBe("call_limit");
  });

  test("inspect shows it, open and ended", async () => {
    const first = host.start({ source: "await yield_control('x'); return 1", mayYield });
    const { token } = suspensionOf(await first.result);
    const yielding = { index: 0, tool: "yield_control", inputBytes: 3 };
    expect(inspect(first.ledger()).calls).toEqual([{ ...yielding, outcome: { status: "open" } }]);
    const second = host.resume({ token });
    await second.result;
    expect(inspect(second.ledger()).calls).toMatchObject([
      { ...yielding, outcome: { status: "completed", delivery: 0 } },
    ]);
  });

  test("a run that yielded replays, to its end or to where it stopped [suspend:yield]", async () => {
    const source = `
      await Promise.all([yield_control("a"), yield_control("b")]);
      return [await tools.echo(1), Math.random(), Date.now()]`;
    const first = host.start({ source, tools: echo, mayYield });
    const { token } = suspensionOf(await first.result);
    expect(await host.replay(first.ledger()).result).toMatchObject({
      failure: { code: "replay_diverged", message: expect.stringContaining("still waits") as string },
    });
    const second = host.resume({ token, tools: echo });
    const result = await second.result;
    if (result.status !== "completed") throw new Error("Not completed");
    const ledger: unknown = JSON.parse(JSON.stringify(second.ledger()));
    expect(await host.replay(ledger as never).result).toMatchObject({ value: result.value });
    const without = { ...second.ledger(), features: {} };
    expect(await host.replay(without).result).toMatchObject({ status: "failed" });
  });

  test("a fork at a yield yields again, or goes on at once with an outcome [suspend:yield]", async () => {
    const source = `
      const before = await tools.echo(1);
      const ended = await yield_control("here").catch((error) => error.message);
      return [before, ended ?? null, await tools.echo(2)]`;
    const first = host.start({ source, tools: echo, mayYield });
    const second = host.resume({ token: suspensionOf(await first.result).token, tools: echo });
    await second.result;
    for (const ledger of [first.ledger(), second.ledger()]) {
      const anew = suspensionOf(await host.fork(ledger, { atCall: 1, tools: echo }).result);
      expect(anew.yielded).toEqual(["here"]);
      expect(await resume(anew.token, { tools: echo })).toMatchObject({ value: [1, null, 2] });
      const ended = host.fork(ledger, { atCall: 1, tools: echo, outcome: { output: 5 } });
      expect(await ended.result).toMatchObject({ value: [1, null, 2] });
      const failed = host.fork(ledger, { atCall: 1, tools: echo, outcome: { error: { message: "no" } } });
      expect(await failed.result).toMatchObject({ value: [1, "no", 2] });
    }
  });
});
