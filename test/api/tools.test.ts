/** Tools: validation, policy, failures, streaming, and how calls are scheduled. */
import { AsyncLocalStorage } from "node:async_hooks";
import { type CallDetails, defineTool, type RunEvent, type ToolSet } from "codecell";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { echo, failureOf, host, sleep, valueOf } from "./harness.ts";

/** A program that returns what it caught. */
function catching(call: string): string {
  return `try { return await ${call} } catch (e) { return { code: e.code, name: e.name, message: e.message, toolCode: e.toolCode } }`;
}

describe("schemas", () => {
  const forecast = defineTool({
    input: z.object({ city: z.string().trim().min(1), days: z.number().int().default(1) }),
    output: z.object({ city: z.string(), days: z.number() }),
    execute: ({ city, days }) => ({ city, days, secret: "not in the schema" }),
  });

  test("Standard Schema validates, fills and strips [tools:standard-schema] [tools:typed]", async () => {
    const tools = { forecast };
    expect(await valueOf("return await tools.forecast({ city: '  Oslo ' })", { tools })).toEqual({
      city: "Oslo",
      days: 1,
    });
    const bad = await valueOf(catching("tools.forecast({ city: 5 })"), { tools });
    expect(bad).toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("input.city") as string,
    });
  });

  test("JSON Schema validates [tools:json-schema]", async () => {
    const tools = {
      add: defineTool({
        input: {
          type: "object",
          properties: { a: { type: "number" }, b: { type: "number" } },
          required: ["a", "b"],
          additionalProperties: false,
        },
        output: { type: "number", maximum: 10 },
        execute: ({ a, b }) => a + b,
      }),
    };
    expect(await valueOf("return await tools.add({ a: 1, b: 2 })", { tools })).toBe(3);
    const bad = [
      ["tools.add({ a: 1 })", "invalid_input"],
      ["tools.add({ a: 1, b: '2' })", "invalid_input"],
      ["tools.add({ a: 1, b: 2, c: 3 })", "invalid_input"],
      ["tools.add()", "invalid_input"],
      ["tools.add({ a: 9, b: 2 })", "invalid_output"],
    ] as const;
    for (const [call, code] of bad) expect(await valueOf(catching(call), { tools })).toMatchObject({ code });
  });

  test("an output that is not JSON fails the call, not the host", async () => {
    const tools: ToolSet = {
      big: { execute: () => 1n },
      cycle: { execute: cyclic },
      nothing: { execute: () => {} },
    };
    expect(await valueOf(catching("tools.big()"), { tools })).toMatchObject({ code: "invalid_output" });
    expect(await valueOf(catching("tools.cycle()"), { tools })).toMatchObject({ code: "invalid_output" });
    expect(await valueOf("return await tools.nothing()", { tools })).toBeNull();
  });
});

function cyclic(): unknown {
  const value: Record<string, unknown> = {};
  value["self"] = value;
  return value;
}

describe("failures of calls", () => {
  test("the failure for a wrong name says which name is closest [tools:did-you-mean]", async () => {
    const tools: ToolSet = { list_orders: { execute: () => [] }, refund: { execute: () => null } };
    const caught = await valueOf(catching("tools.listOrder({})"), { tools });
    expect(caught).toMatchObject({
      code: "unknown_tool",
      message: expect.stringContaining('"list_orders"') as string,
    });
  });

  test("a name that looks like an index of a tool is not a tool", async () => {
    const tools: ToolSet = { first: { execute: () => 1 }, "7": { execute: () => 7 } };
    expect(await valueOf(catching('tools["0"]()'), { tools })).toMatchObject({ code: "unknown_tool" });
    expect(await valueOf("return [await tools[7](), await tools.first()]", { tools })).toEqual([7, 1]);
  });

  test("a program can catch a failed call and go on [tools:failures-caught]", async () => {
    class PaymentError extends Error {
      override readonly name = "PaymentError";
      readonly code = "CARD_EXPIRED";
    }
    const tools: ToolSet = {
      pay: { execute: () => Promise.reject(new PaymentError("The card has expired")) },
    };
    expect(await valueOf(catching("tools.pay({})"), { tools })).toEqual({
      code: "tool_failed",
      name: "PaymentError",
      message: "The card has expired",
      toolCode: "CARD_EXPIRED",
    });
    const uncaught = await failureOf("await tools.pay({})", { tools });
    expect(uncaught).toMatchObject({ code: "tool_failed", position: { line: 1 }, details: { tool: "pay" } });
  });

  test("stacks, causes and other fields stay on the host [tools:no-secrets]", async () => {
    const tools: ToolSet = {
      fail: {
        execute: () => {
          throw Object.assign(new Error("No answer", { cause: new Error("hunter2") }), {
            password: "hunter2",
          });
        },
      },
    };
    const source = `try { await tools.fail({}) } catch (e) {
      return JSON.stringify([e.stack, e.cause, ...Object.getOwnPropertyNames(e).map((name) => [name, e[name]])]) }`;
    const seen = await valueOf(source, { tools });
    expect(seen).not.toContain("hunter2");
    expect(seen).not.toMatch(/\.ts|node_modules|\/work|file:/u);
  });
});

describe("context", () => {
  test("the caller's AsyncLocalStorage is intact [tools:caller-context]", async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const tools: ToolSet = {
      who: {
        execute: async () => {
          await sleep(1);
          seen.push(storage.getStore());
          return storage.getStore();
        },
      },
    };
    const authorize = (): "allow" => {
      seen.push(storage.getStore());
      return "allow";
    };
    const source =
      "await new Promise((r) => setTimeout(r, 5)); return await Promise.all([tools.who(), tools.who()])";
    const values = await Promise.all(
      ["a", "b"].map((name) => storage.run(name, () => valueOf(source, { tools, authorize }))),
    );
    expect(values).toEqual([
      ["a", "a"],
      ["b", "b"],
    ]);
    expect(seen.filter((name) => name === "a")).toHaveLength(4);
    expect(seen).not.toContain(undefined);
  });

  test("a call gets its ids and context", async () => {
    const keys = new Set<string>();
    const tools: ToolSet = {
      note: {
        execute: (_input, { runId, callId, idempotencyKey, context, signal }) => {
          keys.add(idempotencyKey);
          return { same: callId.startsWith(runId), context: context as string, aborted: signal.aborted };
        },
      },
    };
    const value = await valueOf("await tools.note(); return await tools.note()", {
      tools,
      context: "tenant 7",
    });
    expect(value).toEqual({ same: true, context: "tenant 7", aborted: false });
    expect(keys.size).toBe(2);
  });
});

describe("streaming", () => {
  test("every value is progress, and the last value is the output [tools:async-iterable]", async () => {
    const counting = defineTool({
      async *execute({ to }: { to: number }) {
        for (let n = 1; n <= to; n++) yield n;
      },
    });
    const run = host.start({ source: "return await tools.count({ to: 3 })", tools: { count: counting } });
    const progress: unknown[] = [];
    for await (const event of run.events) if (event.type === "call-progress") progress.push(event.output);
    expect(progress).toEqual([1, 2, 3]);
    expect(await run.result).toMatchObject({ status: "completed", value: 3 });
  });
});

describe("policy", () => {
  const pay = defineTool({
    input: z.object({ amount: z.coerce.number() }),
    execute: ({ amount }) => amount,
  });

  test("the policy sees what the tool will see, before the tool runs [policy:validated-input]", async () => {
    const asked: CallDetails[] = [];
    const source = `const paid = await tools.pay({ amount: "5" });
      try { await tools.pay({ amount: 500 }) } catch (e) { return [paid, e.code, e.message] }`;
    const value = await valueOf(source, {
      tools: { pay },
      context: "someone",
      authorize: (call) => {
        asked.push(call);
        return (call.input as { amount: number }).amount > 100
          ? { deny: "more than 100 needs a person" }
          : "allow";
      },
    });
    expect(value).toEqual([5, "denied", expect.stringContaining("needs a person")]);
    expect(asked.map(({ tool, input, context }) => ({ tool, input, context }))).toEqual([
      { tool: "pay", input: { amount: 5 }, context: "someone" },
      { tool: "pay", input: { amount: 500 }, context: "someone" },
    ]);
  });

  test("a policy that fails allows nothing [policy:fails-closed]", async () => {
    const authorize = (): never => {
      throw new Error("the policy server at 10.0.0.7 is down");
    };
    const caught = await valueOf(catching("tools.pay({ amount: 1 })"), { tools: { pay }, authorize });
    expect(caught).toMatchObject({ code: "denied" });
    expect(JSON.stringify(caught)).not.toContain("10.0.0.7");
  });

  test("time in the policy does not count as the run's time [policy:unhurried]", async () => {
    const authorize = async (): Promise<"allow"> => {
      await sleep(400);
      return "allow";
    };
    const options = { tools: { pay }, authorize, limits: { wallTimeMs: 250 } };
    expect(await valueOf("return await tools.pay({ amount: 1 })", options)).toBe(1);
  });
});

describe("calls", () => {
  /** A tool that counts how many of its calls run at the same time. */
  function crowd(ms: number): { readonly tools: ToolSet; most: () => number; started: () => number } {
    let now = 0;
    let most = 0;
    let started = 0;
    const tools: ToolSet = {
      work: {
        execute: async (input: unknown) => {
          started++;
          most = Math.max(most, ++now);
          await sleep(ms);
          now--;
          return input;
        },
      },
    };
    return { tools, most: () => most, started: () => started };
  }

  const many = (n: number): string =>
    `return await Promise.all(Array.from({ length: ${n} }, (_, i) => tools.work(i)))`;

  test("calls that are made together run together [calls:parallel]", async () => {
    const { tools, most } = crowd(50);
    expect(await valueOf(many(10), { tools })).toEqual(Array.from({ length: 10 }, (_, index) => index));
    expect(most()).toBe(10);
  });

  test("no more execute at once than allowed, the rest wait [calls:in-flight]", async () => {
    const { tools, most } = crowd(5);
    const value = await valueOf(many(20), { tools, limits: { callsInFlight: 3 } });
    expect(value).toHaveLength(20);
    expect(most()).toBe(3);
  });

  test("a batch that does not fit starts no call at all [calls:batch-whole]", async () => {
    const { tools, started } = crowd(5);
    const limits = { callsInFlight: 2, callsQueued: 3 };
    expect((await failureOf(many(6), { tools, limits })).code).toBe("call_limit");
    expect(started()).toBe(0);
    expect(await valueOf(many(5), { tools, limits })).toHaveLength(5);
  });

  test("calls that nobody awaits are finished before the run ends [calls:drained]", async () => {
    let done = false;
    const tools: ToolSet = {
      save: {
        execute: async () => {
          await sleep(50);
          done = true;
        },
      },
    };
    expect(await valueOf("tools.save({}); return 'early'", { tools })).toBe("early");
    expect(done).toBe(true);
  });

  test.each([
    ["the program throws", "tools.slow(); await tools.echo(1); throw new Error('x')", "guest_error"],
    ["the wall time is over", "await tools.slow()", "timeout"],
    ["the caller aborts", "await tools.slow()", "aborted"],
  ])("when %s, calls are aborted [calls:aborted]", async (_name, source, code) => {
    const stopped = Promise.withResolvers<boolean>();
    const caller = new AbortController();
    const tools: ToolSet = {
      ...echo,
      slow: {
        execute: async (_input, { signal }) => {
          if (code === "aborted") caller.abort(new Error("the user left"));
          await sleep(20_000, signal).catch(() => stopped.resolve(signal.aborted));
        },
      },
    };
    const limits = code === "timeout" ? { wallTimeMs: 200 } : {};
    const failure = await failureOf(source, { tools, signal: caller.signal, limits });
    expect(failure.code).toBe(code);
    expect(await stopped.promise).toBe(true);
    if (code === "aborted") expect(failure.message).toContain("the user left");
  });
});

describe("events", () => {
  test("every reader gets all events in order [events:story]", async () => {
    const run = host.start({ source: "console.log('hi'); return await tools.echo({ n: 1 })", tools: echo });
    const [first, second] = await Promise.all([collect(run.events), collect(run.events)]);
    expect(first.map(({ type }) => type)).toEqual(["run-start", "log", "call-start", "call-end", "run-end"]);
    expect(second).toEqual(first);
    expect(await collect(run.events)).toEqual(first);
    expect(first[2]).toMatchObject({ index: 0, tool: "echo", input: { n: 1 } });
    expect(first[3]).toMatchObject({ outcome: { status: "completed", outputBytes: 7 } });
    expect(first[4]).toMatchObject({ result: await run.result });
  });
});

async function collect(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  return await Array.fromAsync(events);
}
