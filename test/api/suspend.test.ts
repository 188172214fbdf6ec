import { createHost, type Json, type RunResult, type Suspension, type ToolSet } from "codecell";
import { describe, expect, test } from "vitest";
import { host } from "./harness.ts";

const source = `
  console.log("before");
  const plan = await tools.plan({});
  const paid = await tools.pay({ amount: plan.amount });
  console.log("after");
  return { paid, plan };`;

/** `pay` asks a person, and does what the answer says. */
function desk(): { readonly tools: ToolSet; readonly counts: Record<"plan" | "paid", number> } {
  const counts = { plan: 0, paid: 0 };
  const tools: ToolSet = {
    plan: {
      execute: () => {
        counts.plan++;
        return { amount: 40 };
      },
    },
    pay: {
      execute: ({ amount }: { amount: number }, call) => {
        if (call.resolution === undefined) call.suspend({ question: `Pay ${amount}?` });
        counts.paid++;
        return { amount, by: call.resolution };
      },
    },
  };
  return { tools, counts };
}

function suspensionOf(result: RunResult): Suspension {
  if (result.status !== "suspended") throw new Error(`Not suspended: ${JSON.stringify(result)}`);
  return result.suspension;
}

function answer(suspension: Suspension, resolution: Json): Record<string, { resolution: Json }> {
  return Object.fromEntries(suspension.pending.map(({ callId }) => [callId, { resolution }]));
}

async function suspend(tools: ToolSet): Promise<Suspension> {
  return suspensionOf(await host.start({ source, tools }).result);
}

describe("suspension", () => {
  test("it says what is asked, and goes on with the answer [suspend:resume]", async () => {
    const { tools, counts } = desk();
    const suspension = await suspend(tools);
    expect(suspension.pending).toMatchObject([
      { tool: "pay", input: { amount: 40 }, payload: { question: "Pay 40?" } },
    ]);
    expect(suspension.expiresAt).toBeGreaterThan(Date.now());
    const resolutions = answer(suspension, "ana");
    const result = await host.resume({ token: suspension.token, resolutions, tools }).result;
    expect(result).toMatchObject({
      status: "completed",
      value: { paid: { amount: 40, by: "ana" }, plan: { amount: 40 } },
      logs: [{ text: "after" }],
    });
    expect(counts).toEqual({ plan: 1, paid: 1 });
  });

  test("the host's policy can ask too, and sees the answer [suspend:policy]", async () => {
    const paid: unknown[] = [];
    const tools: ToolSet = { pay: { execute: (input) => paid.push(input) } };
    const options = {
      tools,
      authorize: ({ resolution, tool }: { resolution: Json | undefined; tool: string }) =>
        resolution === "yes"
          ? ("allow" as const)
          : resolution === undefined
            ? { suspend: { approve: tool } }
            : { deny: "it was not approved" },
    };
    const program = "return await tools.pay({ amount: 1 })";
    const suspension = suspensionOf(await host.start({ source: program, ...options }).result);
    expect(suspension.pending).toMatchObject([{ tool: "pay", payload: { approve: "pay" } }]);
    expect(paid).toEqual([]);
    const resolutions = answer(suspension, "yes");
    expect(await host.resume({ token: suspension.token, resolutions, ...options }).result).toMatchObject({
      status: "completed",
      value: 1,
    });
    const second = suspensionOf(await host.start({ source: program, ...options }).result);
    const refused = { token: second.token, resolutions: answer(second, "no"), ...options };
    expect(await host.resume(refused).result).toMatchObject({
      failure: { details: { call: { code: "denied" } } },
    });
    expect(paid).toHaveLength(1);
  });

  test("a denied call fails in the program", async () => {
    const { tools, counts } = desk();
    const { token, pending } = await suspend(tools);
    const resolutions = { [pending[0]?.callId ?? ""]: { deny: "not today" } };
    const result = await host.resume({ token, resolutions, tools }).result;
    expect(result).toMatchObject({ failure: { code: "tool_failed", details: { call: { code: "denied" } } } });
    expect(counts.paid).toBe(0);
  });

  test("what is left open stays pending [suspend:resume]", async () => {
    const { tools } = desk();
    const both = "return await Promise.all([tools.pay({ amount: 1 }), tools.pay({ amount: 2 })])";
    const first = suspensionOf(await host.start({ source: both, tools }).result);
    expect(first.pending).toHaveLength(2);
    const [one] = first.pending;
    const resolutions = { [one?.callId ?? ""]: { resolution: "ana" } };
    const second = suspensionOf(await host.resume({ token: first.token, resolutions, tools }).result);
    expect(second.pending).toMatchObject([{ input: { amount: 2 } }]);
    const last = await host.resume({ token: second.token, resolutions: answer(second, "bo"), tools }).result;
    expect(last).toMatchObject({
      value: [
        { amount: 1, by: "ana" },
        { amount: 2, by: "bo" },
      ],
    });
  });

  test("any host with the key takes it up [suspend:resume]", async () => {
    const sealKey = crypto.getRandomValues(new Uint8Array(32));
    const { tools, counts } = desk();
    let suspension: Suspension;
    {
      await using first = createHost({ workers: 1, sealKey });
      suspension = suspensionOf(await first.start({ source, tools }).result);
    }
    await using second = createHost({ workers: 1, sealKey });
    const resolutions = answer(suspension, "bo");
    const result = await second.resume({ token: suspension.token, resolutions, tools }).result;
    expect(result).toMatchObject({ status: "completed", value: { paid: { by: "bo" } } });
    expect(counts).toEqual({ plan: 1, paid: 1 });
  });

  test("a token is good for one resumption [suspend:single-use]", async () => {
    const { tools, counts } = desk();
    const suspension = await suspend(tools);
    const options = { token: suspension.token, resolutions: answer(suspension, "ana"), tools };
    const results = await Promise.all([host.resume(options).result, host.resume(options).result]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(["completed", "failed"]);
    expect(results.find(({ status }) => status === "failed")).toMatchObject({
      failure: { code: "token_used" },
    });
    expect(counts.paid).toBe(1);
  });

  test("an altered, foreign or senseless token is refused [suspend:sealed]", async () => {
    const { tools } = desk();
    const { token } = await suspend(tools);
    await using stranger = createHost({ workers: 1 });
    const at = token.length >> 1;
    const altered = token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1);
    for (const bad of [altered, `${token}A`, "", "cc1..", "cc1.e30.e30"]) {
      const result = await host.resume({ token: bad, resolutions: {}, tools }).result;
      expect(result).toMatchObject({ failure: { code: "token_invalid" } });
    }
    const elsewhere = await stranger.resume({ token, resolutions: {}, tools }).result;
    expect(elsewhere).toMatchObject({ failure: { code: "token_invalid" } });
  });

  test("a token past its expiry is refused [suspend:sealed]", async () => {
    const { tools } = desk();
    const limits = { suspensionTimeMs: 1000 };
    const suspension = suspensionOf(await host.start({ source, tools, limits }).result);
    await new Promise((resolve) => setTimeout(resolve, suspension.expiresAt - Date.now() + 20));
    const result = await host.resume({ token: suspension.token, resolutions: {}, tools }).result;
    expect(result).toMatchObject({ failure: { code: "token_expired" } });
  });

  test("a token that could not be used yet can be used later [suspend:single-use]", async () => {
    await using small = createHost({ workers: 1, liveRuns: 1 });
    const { tools } = desk();
    const suspension = suspensionOf(await small.start({ source, tools }).result);
    const wait: ToolSet = { wait: { execute: () => new Promise((resolve) => setTimeout(resolve, 100)) } };
    const busy = small.start({ source: "await tools.wait()", tools: wait });
    const options = { token: suspension.token, resolutions: answer(suspension, "ana"), tools };
    expect(await small.resume(options).result).toMatchObject({ failure: { code: "too_many_runs" } });
    await busy.result;
    expect(await small.resume(options).result).toMatchObject({ status: "completed" });
  });

  test("what a tool asks must be JSON, or its call fails", async () => {
    const tools: ToolSet = { ask: { execute: (_input, call) => call.suspend(1n as never) } };
    const result = await host.start({ source: "await tools.ask()", tools }).result;
    expect(result).toMatchObject({ failure: { code: "tool_failed" } });
  });

  test("a program with a running timer waits for a person like any other", async () => {
    const { tools } = desk();
    const ticking = `setInterval(() => {}, 20);${source}`;
    const result = await host.start({ source: ticking, tools, limits: { wallTimeMs: 2000 } }).result;
    expect(result.status).toBe("suspended");
  });

  test("a suspended run that is too large fails instead", async () => {
    const { tools } = desk();
    const limits = { suspensionBytes: 1024 };
    const padded = `/* ${"x".repeat(2000)} */${source}`;
    const result = await host.start({ source: padded, tools, limits }).result;
    expect(result).toMatchObject({ failure: { code: "suspension_limit" } });
  });
});

describe("time that is up", () => {
  const options = { limits: { wallTimeMs: 500 }, atDeadline: "suspend" } as const;

  test("a run that waits is suspended with its calls, which go on [suspend:deadline]", async () => {
    let finish: ((value: string) => void) | undefined;
    let calls = 0;
    const tools: ToolSet = {
      slow: {
        execute: (_input, { signal }) => {
          calls++;
          return new Promise((resolve, reject) => {
            finish = resolve;
            signal.addEventListener("abort", () => reject(new Error("aborted")));
          });
        },
      },
    };
    const program = "return await tools.slow({})";
    const first = suspensionOf(await host.start({ source: program, tools, ...options }).result);
    expect(first.pending).toEqual([]);
    // Resumed before the tool is done, it waits again, and again has its time.
    const second = suspensionOf(
      await host.resume({ token: first.token, tools, atDeadline: "suspend" }).result,
    );
    const resumed = host.resume({ token: second.token, tools });
    finish?.("done");
    expect(await resumed.result).toMatchObject({ status: "completed", value: "done" });
    expect(calls).toBe(1);
  });

  test("another process cannot know what became of them [suspend:deadline]", async () => {
    const sealKey = new Uint8Array(32).fill(3);
    await using here = createHost({ workers: 1, sealKey });
    await using there = createHost({ workers: 1, sealKey });
    // Its worker is there before the time counts.
    await there.start({ source: "" }).result;
    let looked = 0;
    const tools: ToolSet = {
      slow: { execute: () => new Promise(() => {}) },
      look: { readOnly: true, execute: () => (looked++ === 0 ? new Promise(() => {}) : looked) },
    };
    const program = `
      const all = await Promise.allSettled([tools.slow({}), tools.look({})]);
      return all.map((one) => one.value ?? one.reason.code)`;
    const { token } = suspensionOf(await here.start({ source: program, tools, ...options }).result);
    expect(await there.resume({ token, tools }).result).toMatchObject({ value: ["outcome_unknown", 2] });
  });

  test("its timers have the time left that they had", async () => {
    const program = "await new Promise((resolve) => setTimeout(resolve, 600)); return 'rung'";
    const suspension = suspensionOf(await host.start({ source: program, ...options }).result);
    expect(await host.resume({ token: suspension.token }).result).toMatchObject({ value: "rung" });
  });

  test("a program that computes is not suspended: it has its processor time", async () => {
    const program = "for (;;);";
    const limits = { wallTimeMs: 20, cpuTimeMs: 60 };
    const result = await host.start({ source: program, limits, atDeadline: "suspend" }).result;
    expect(result).toMatchObject({ failure: { code: "timeout" } });
  });

  test("a question is not held up by a slow call beside it", async () => {
    const { tools } = desk();
    const slow: ToolSet = { ...tools, slow: { execute: () => new Promise(() => {}) } };
    const program = "return await Promise.all([tools.slow({}), tools.pay({ amount: 1 })])";
    const suspension = suspensionOf(await host.start({ source: program, tools: slow }).result);
    expect(suspension.pending).toMatchObject([{ tool: "pay" }]);
  });
});
