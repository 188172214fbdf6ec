import { spawn } from "node:child_process";
import { text as textOf } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { zstdDecompressSync } from "node:zlib";
import { createHost, type Host, type Json, type RunResult, type Suspension, type ToolSet } from "codecell";
import { describe, expect, test } from "vitest";
import { Tokens } from "../../packages/codecell/src/durable/token.ts";
import { Vault } from "../../packages/codecell/src/seal/vault.ts";
import { host } from "./harness.ts";
import { suspensionOf } from "./suspension-of.ts";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";

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

function answer(suspension: Suspension, resolution: Json): Record<string, { resolution: Json }> {
  return Object.fromEntries(suspension.pending.map(({ callId }) => [callId, { resolution }]));
}

async function suspend(tools: ToolSet): Promise<Suspension> {
  return suspensionOf(await host.start({ source, tools }).result);
}

/** What another process prints, with or without a key in its environment. */
async function inProcess(what: "suspend" | "resume", key?: string, input = ""): Promise<string> {
  const fixture = fileURLToPath(new URL("suspend-process.fixture.ts", import.meta.url));
  const { CODECELL_SEAL_KEY: _, ...environment } = process.env;
  const child = spawn(process.execPath, [...SOURCE_FLAGS, fixture, what], {
    env: { ...environment, ...(key === undefined ? {} : { CODECELL_SEAL_KEY: key }) },
    timeout: 100_000,
  });
  child.stdin.end(input);
  const [printed, complaint] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  if (printed === "") throw new Error(complaint);
  return printed;
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

  test("calls that ask are listed in the order of the program, whichever asked first [suspend:resume]", async () => {
    const last = Promise.withResolvers<void>();
    const authorize = async ({ input }: { input: unknown }): Promise<{ suspend: Json }> => {
      if (input === 2) last.resolve();
      // Nobody before the last call asks before it has asked.
      else await last.promise.then(() => nextTurn());
      return { suspend: "may it?" };
    };
    const pay = { execute: (input: Json) => input };
    const program = "return await Promise.all([0, 1, 2].map((at) => tools.pay(at)))";
    const suspension = suspensionOf(await host.start({ source: program, tools: { pay }, authorize }).result);
    expect(suspension.pending.map(({ input }) => input)).toEqual([0, 1, 2]);
    const again = host.resume({ token: suspension.token, tools: { pay }, authorize });
    expect(suspensionOf(await again.result).pending).toEqual(suspension.pending);
  });

  test("a denied call fails in the program", async () => {
    const { tools, counts } = desk();
    const { token, pending } = await suspend(tools);
    const resolutions = { [pending[0]?.callId ?? ""]: { deny: "not today" } };
    const result = await host.resume({ token, resolutions, tools }).result;
    expect(result).toMatchObject({ failure: { code: "tool_failed", details: { call: { code: "denied" } } } });
    expect(counts.paid).toBe(0);
  });

  test("undecided calls stay pending [suspend:resume]", async () => {
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

  test("any host with the key can resume a run [suspend:resume]", async () => {
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

  test("an altered or invalid token is refused [suspend:sealed]", async () => {
    const { tools } = desk();
    const { token } = await suspend(tools);
    const at = token.length >> 1;
    const altered = token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1);
    const bad = [altered, `${token}A`, token.slice(0, -4), "", "codecell", "codecellAQ", "cc1.e30.e30"];
    for (const one of bad) {
      const result = await host.resume({ token: one, resolutions: {}, tools }).result;
      expect(result).toMatchObject({ failure: { code: "token_invalid" } });
    }
  });

  test("a token of another version is refused, and the failure says so [suspend:sealed]", async () => {
    const { tools } = desk();
    const { token } = await suspend(tools);
    const bytes = Buffer.from(token, "base64url");
    bytes[6] = 2;
    const later = bytes.toString("base64url");
    const result = await host.resume({ token: later, resolutions: {}, tools }).result;
    expect(result).toMatchObject({ failure: { code: "token_version" } });
  });

  test("a token of another key is refused, and says what to do [suspend:sealed]", async () => {
    const { tools } = desk();
    const sealKey = crypto.getRandomValues(new Uint8Array(32));
    await using stranger = createHost({ workers: 1, sealKey });
    const { token } = suspensionOf(await stranger.start({ source, tools }).result);
    const here = await host.resume({ token, resolutions: {}, tools }).result;
    expect(here).toMatchObject({ failure: { code: "token_key" } });
    expect(here).toHaveProperty("failure.message", expect.stringContaining("CODECELL_SEAL_KEY"));
    const there = await stranger.resume({ token: (await suspend(tools)).token, resolutions: {}, tools })
      .result;
    expect(there).toMatchObject({ failure: { code: "token_key" } });
    expect(there).toHaveProperty("failure.message", expect.stringContaining("sealKeys"));
  });

  test("keys can be replaced while runs are suspended [suspend:rotation]", async () => {
    const [old, fresh] = [1, 2].map(() => crypto.getRandomValues(new Uint8Array(32))) as [
      Uint8Array,
      Uint8Array,
    ];
    const both = "return [await tools.pay({ amount: 1 }), await tools.pay({ amount: 2 })].length";
    const { tools } = desk();
    await using before = createHost({ workers: 1, sealKey: old });
    await using during = createHost({ workers: 1, sealKeys: [fresh, old] });
    await using after = createHost({ workers: 1, sealKey: fresh, encrypt: true });
    const first = suspensionOf(await before.start({ source: both, tools }).result);
    const early = await after.resume({ token: first.token, resolutions: answer(first, 1), tools }).result;
    expect(early).toMatchObject({ failure: { code: "token_key" } });
    const second = suspensionOf(
      await during.resume({ token: first.token, resolutions: answer(first, 1), tools }).result,
    );
    const done = await after.resume({ token: second.token, resolutions: answer(second, 2), tools }).result;
    expect(done).toMatchObject({ status: "completed", value: 2 });
  });

  test("a token resumes under its own scope only, to the end [suspend:scope]", async () => {
    const { tools, counts } = desk();
    const both = "return [await tools.pay({ amount: 1 }), await tools.pay({ amount: 2 })].length";
    const first = suspensionOf(await host.start({ source: both, tools, scope: "ana" }).result);
    for (const scope of ["bo", "", undefined]) {
      const options = { token: first.token, resolutions: answer(first, 1), tools };
      const result = await host.resume(scope === undefined ? options : { ...options, scope }).result;
      expect(result).toMatchObject({ failure: { code: "token_scope" } });
    }
    expect(counts.paid).toBe(0);
    const resumed = await host.resume({
      token: first.token,
      resolutions: answer(first, 1),
      tools,
      scope: "ana",
    }).result;
    const second = suspensionOf(resumed);
    const options = { token: second.token, resolutions: answer(second, 1), tools };
    expect(await host.resume(options).result).toMatchObject({ failure: { code: "token_scope" } });
    expect(await host.resume({ ...options, scope: "ana" }).result).toMatchObject({ value: 2 });
  });

  test("a token without a scope resumes under none [suspend:scope]", async () => {
    const { tools } = desk();
    const suspension = await suspend(tools);
    const options = { token: suspension.token, resolutions: answer(suspension, "ana"), tools };
    expect(await host.resume({ ...options, scope: "ana" }).result).toMatchObject({
      failure: { code: "token_scope" },
    });
    expect(await host.resume(options).result).toMatchObject({ status: "completed" });
    expect(() => host.resume({ ...options, scope: 5 as never })).toThrow("scope must be a string");
    expect(() => host.start({ source, scope: {} as never })).toThrow("scope must be a string");
  });

  test("an encrypted token is unreadable, any other token is readable [suspend:encrypted]", async () => {
    const { tools } = desk();
    const sealKey = crypto.getRandomValues(new Uint8Array(32));
    await using secret = createHost({ workers: 1, sealKey, encrypt: true });
    await using open = createHost({ workers: 1, sealKey });
    const shown = async (one: Host): Promise<boolean> => {
      const result = await one.start({ source: "return await tools.pay({ amount: 1 })", tools }).result;
      const bytes = Buffer.from(suspensionOf(result).token, "base64url");
      const frame = bytes.indexOf(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]));
      const text = frame < 0 ? bytes : zstdDecompressSync(bytes.subarray(frame, -32));
      return text.includes("tools.pay");
    };
    expect(await shown(open)).toBe(true);
    expect(await shown(secret)).toBe(false);
  });

  test("another process with the key in its environment can resume a run [suspend:resume] [suspend:sealed]", async () => {
    const key = crypto.getRandomValues(new Uint8Array(32));
    const [hex, base64] = (["hex", "base64"] as const).map((it) => Buffer.from(key).toString(it));
    const other = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64");
    const suspended = await inProcess("suspend", hex);
    const unset = JSON.parse(await inProcess("resume", undefined, suspended)) as RunResult;
    expect(unset).toMatchObject({ failure: { code: "token_key" } });
    expect(unset).toHaveProperty(
      "failure.message",
      expect.stringMatching(/a random one.*CODECELL_SEAL_KEY/u),
    );
    const wrong = JSON.parse(await inProcess("resume", other, suspended)) as RunResult;
    expect(wrong).toMatchObject({ failure: { code: "token_key" } });
    const done = JSON.parse(await inProcess("resume", `${other},${base64}`, suspended)) as RunResult;
    expect(done).toMatchObject({ status: "completed", value: expect.any(Number) as number });
    await expect(inProcess("suspend", "too short")).rejects.toThrow("CODECELL_SEAL_KEY");
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

  test.each([
    ["no input", "return await tools.ask()"],
    ["half a character", "return await tools.ask('\\ud800')"],
    ["odd errors", "for (const t of ['odd', 'none', 'ask']) try { await tools[t]({}) } catch {} return 1"],
    [
      "odd delays",
      "for (const d of [Infinity, 1e300, -5, NaN]) setTimeout(() => {}, d); return await tools.ask({})",
    ],
    [
      "dropped logs",
      "for (let i = 0; i < 500; i++) console.log('x'.repeat(1000)); return await tools.ask({})",
    ],
    ["odd names", "return await tools.ask({ ['__proto']: 1, constructor: 2, hasOwnProperty: 3 })"],
  ])("a run can be resumed whatever its program did: %s [suspend:resume]", async (_name, program) => {
    const tools: ToolSet = {
      ask: { execute: (_input, call) => call.resolution ?? call.suspend("?") },
      odd: { execute: () => Promise.reject(Object.assign(new Error("\ud800"), { code: 42, name: 7 })) },
    };
    const scope = "é\ud800";
    const suspension = suspensionOf(await host.start({ source: program, tools, scope }).result);
    const options = { token: suspension.token, resolutions: answer(suspension, 1), tools, scope };
    expect(await host.resume(options).result).toMatchObject({ status: "completed", value: 1 });
  });

  test("a resolution with a key __proto__ is refused, and the run goes on with another [policy:no-proto]", async () => {
    const tools: ToolSet = { ask: { execute: (_input, call) => call.resolution ?? call.suspend("?") } };
    const suspension = suspensionOf(await host.start({ source: "return await tools.ask({})", tools }).result);
    const odd = JSON.parse('{"by":[{"__proto__":{"isAdmin":true}}]}') as Json;
    const resume = (given: Json): ReturnType<typeof host.resume> =>
      host.resume({ token: suspension.token, resolutions: answer(suspension, given), tools });
    expect(() => resume(odd)).toThrow(/has a key "__proto__"/u);
    expect(await resume({ by: "__proto__" }).result).toMatchObject({ value: { by: "__proto__" } });
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
    // Resumed before the tool is done, the run waits again, and has its whole time again.
    const second = suspensionOf(
      await host.resume({ token: first.token, tools, atDeadline: "suspend" }).result,
    );
    const resumed = host.resume({ token: second.token, tools });
    finish?.("done");
    expect(await resumed.result).toMatchObject({ status: "completed", value: "done" });
    expect(calls).toBe(1);
  });

  test("another process cannot know the outcomes of these calls [suspend:deadline]", async () => {
    const sealKey = new Uint8Array(32).fill(3);
    await using here = createHost({ workers: 1, sealKey });
    await using there = createHost({ workers: 1, sealKey });
    // The worker is started before the time counts.
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

  test("its timers have the same time left", async () => {
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

  test("a question does not wait for a slow call beside it", async () => {
    const { tools } = desk();
    const slow: ToolSet = { ...tools, slow: { execute: () => new Promise(() => {}) } };
    const program = "return await Promise.all([tools.slow({}), tools.pay({ amount: 1 })])";
    const suspension = suspensionOf(await host.start({ source: program, tools: slow }).result);
    expect(suspension.pending).toMatchObject([{ tool: "pay" }]);
  });
});

describe("calls that go on after their run was suspended are told to stop", () => {
  const program = "return await Promise.all([tools.slow({}), tools.ask({})])";

  /** A tool that ends only when it is aborted, and tells why. */
  function slowly(): { readonly tools: ToolSet; readonly aborted: Promise<unknown> } {
    const aborted = Promise.withResolvers<unknown>();
    const slow: ToolSet[string] = {
      execute: (_input, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            aborted.resolve(signal.reason);
            reject(new Error("stopped"));
          });
        }),
    };
    const ask: ToolSet[string] = { execute: (_input, call) => call.resolution ?? call.suspend("?") };
    return { tools: { slow, ask }, aborted: aborted.promise };
  }

  test("when the run is discarded [suspend:discard]", async () => {
    const { tools, aborted } = slowly();
    const { token } = suspensionOf(await host.start({ source: program, tools }).result);
    expect(await host.discard({ token })).toBe(true);
    expect(await aborted).toMatchObject({ name: "AbortError" });
  });

  test("when the token expires", async () => {
    const { tools, aborted } = slowly();
    const limits = { suspensionTimeMs: 1000 };
    const { expiresAt } = suspensionOf(await host.start({ source: program, tools, limits }).result);
    expect(await aborted).toMatchObject({ name: "AbortError" });
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt);
  });

  test("when the run was resumed and ends, also after it was suspended again", async () => {
    const { tools, aborted } = slowly();
    const first = suspensionOf(await host.start({ source: program, tools }).result);
    const second = suspensionOf(await host.resume({ token: first.token, tools }).result);
    const stop = new AbortController();
    const resumed = host.resume({ token: second.token, tools, signal: stop.signal });
    stop.abort();
    expect(await resumed.result).toMatchObject({ failure: { code: "aborted" } });
    expect(await aborted).toMatchObject({ name: "AbortError" });
  });

  test("when their host is closed: nobody can ask it for their outcomes any more", async () => {
    const { tools, aborted } = slowly();
    const own = createHost({ workers: 1, sealKey: new Uint8Array(32).fill(1) });
    suspensionOf(await own.start({ source: program, tools }).result);
    await own[Symbol.asyncDispose]();
    expect(await aborted).toMatchObject({ name: "AbortError" });
  });
});

test("the outcome of a call that waited in the queue of a resumed run is not lost", async () => {
  const slow = Promise.withResolvers<string>();
  const work = Promise.withResolvers<string>();
  const working = Promise.withResolvers<void>();
  let slowMade = 0;
  const tools: ToolSet = {
    ask: {
      execute: (_input, call) => {
        if (call.resolution === undefined) return call.suspend("?");
        if (call.resolution !== "work") return call.resolution;
        working.resolve();
        return work.promise;
      },
    },
    slow: {
      execute: () => {
        slowMade++;
        return slow.promise;
      },
    },
  };
  const program = "return await Promise.all([tools.ask({ n: 0 }), tools.ask({ n: 1 }), tools.slow({})])";
  const started = host.start({ source: program, tools, limits: { callsInFlight: 1 } });
  const first = suspensionOf(await started.result);
  const [one, other] = first.pending.map(({ callId }) => callId);
  const resumed = host.resume({
    token: first.token,
    tools,
    resolutions: { [one ?? ""]: { resolution: "work" } },
  });
  await working.promise;
  slow.resolve("slow");
  const second = suspensionOf(await resumed.result);
  work.resolve("worked");
  const third = host.resume({
    token: second.token,
    tools,
    resolutions: { [other ?? ""]: { resolution: "yes" } },
  });
  expect(await third.result).toMatchObject({ status: "completed", value: ["worked", "yes", "slow"] });
  expect(slowMade).toBe(1);
});

describe("a long ledger", () => {
  const program = `
    let sum = 0;
    for (let n = 0; n < 60; n++) sum += (await tools.big({ n })).text.length;
    const kept = Math.random();
    console.log("asked");
    const answer = await tools.ask({});
    try { null.x } catch (error) { return [sum, kept, answer, error.stack] }`;
  const tools: ToolSet = {
    big: { execute: () => ({ text: "x".repeat(1000) }) },
    ask: { execute: (_input, call) => call.resolution ?? call.suspend(null) },
  };

  test("a run goes on from its snapshot as from its ledger [suspend:snapshot]", async () => {
    const sealKey = new Uint8Array(32).fill(9);
    await using here = createHost({ workers: 1, sealKey });
    await using there = createHost({ workers: 1, sealKey });
    const started = here.start({ source: program, tools });
    const suspension = suspensionOf(await started.result);
    const ledger = started.ledger();
    const opened = new Tokens(new Vault({ sealKey })).open(suspension.token, "");
    const bytes = "code" in opened ? 0 : (opened.peek()?.snapshot?.length ?? 0);
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(16_384);
    const result = await there.resume({ token: suspension.token, resolutions: answer(suspension, 5), tools })
      .result;
    expect(result).toMatchObject({
      status: "completed",
      value: [60_000, expect.any(Number), 5, expect.stringContaining(":8:")],
      logs: [],
    });
    expect(ledger.calls).toHaveLength(61);
  });
});
