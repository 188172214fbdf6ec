import { afterAll, describe, expect, test, vi } from "vitest";
import type { RunEvent } from "../../contract/events.ts";
import type { RunResult } from "../../contract/result.ts";
import type { ToolSet } from "../../contract/tool.ts";
import { createHost, type StartOptions } from "./host.ts";

const host = createHost({ workers: 2 });
afterAll(() => host[Symbol.asyncDispose]());

const tools: ToolSet = {
  echo: { execute: (input) => input },
  fail: {
    execute: () => {
      throw new Error("nope");
    },
  },
};

function start(source: string, options: Partial<StartOptions> = {}): Promise<RunResult> {
  return host.start({ source, tools, ...options }).result;
}

const failed = (code: string, message: string | RegExp): object => ({
  status: "failed",
  failure: { code, message: typeof message === "string" ? message : expect.stringMatching(message) },
});

describe("a run", () => {
  test("gives the value the program returns", async () => {
    expect(await start("const n: number = 41; return { n: n + 1 }")).toMatchObject({
      status: "completed",
      value: { n: 42 },
    });
  });

  test("without a return the value is null", async () => {
    expect(await start("const a = 1;")).toMatchObject({ status: "completed", value: null });
  });

  test("waits for calls that the program does not await", async () => {
    const gate = Promise.withResolvers<void>();
    const ended = vi.fn<() => void>();
    const result = start("tools.slow({}); return 'returned'", {
      tools: {
        slow: {
          execute: async () => {
            await gate.promise;
            ended();
          },
        },
      },
    });
    gate.resolve();
    expect(await result).toMatchObject({ status: "completed", value: "returned" });
    expect(ended).toHaveBeenCalledOnce();
  });

  test("runs what follows a call that was not awaited", async () => {
    const result = await start("tools.echo(1).then(() => tools.echo(2)).then(console.log); return 'early'");
    expect(result).toMatchObject({
      value: "early",
      logs: [{ level: "log", text: "2" }],
      stats: { calls: 2 },
    });
  });

  test("timers do not keep a program alive that has returned", async () => {
    expect(
      await start("setInterval(() => {}, 10_000); setTimeout(() => tools.echo(1), 5000); return 1"),
    ).toMatchObject({
      status: "completed",
      stats: { calls: 0 },
    });
  });

  test("an uncaught failure of a call names the tool and the line of the call", async () => {
    expect(await start("const x = 1;\nawait tools.fail({});")).toMatchObject({
      ...failed(
        "tool_failed",
        'Tool "fail" failed and the program did not catch it: nope (line 2, column 13)',
      ),
    });
  });

  test("an error after an await carries its line and column", async () => {
    const result = await start("const a = await tools.echo({});\n\n  a.b.c();\nreturn 1");
    expect(result).toMatchObject({ failure: { code: "guest_error", position: { line: 3 } } });
  });

  test("a program that waits for nothing fails at once", async () => {
    expect(await start("await new Promise(() => {})")).toMatchObject(
      failed("deadlock", /no call and no timer is pending/),
    );
  });

  test("throwing aborts the calls in flight", async () => {
    let signal: AbortSignal | undefined;
    const result = await start(
      "tools.hang({}).catch(() => {}); await tools.echo(1); throw new Error('bye')",
      {
        tools: {
          ...tools,
          hang: {
            execute: (_input, call) => {
              ({ signal } = call);
              return new Promise((_resolve, reject) => {
                call.signal.addEventListener("abort", () => reject(new Error("stopped")));
              });
            },
          },
        },
      },
    );
    expect(result).toMatchObject(failed("guest_error", /^Error: bye/));
    expect(signal?.aborted).toBe(true);
  });

  test("if more calls are made at once than may wait, none of them runs", async () => {
    const execute = vi.fn<() => number>(() => 1);
    const result = await start("await Promise.all(Array.from({ length: 10 }, () => tools.t({})))", {
      tools: { t: { execute } },
      limits: { callsInFlight: 2, callsQueued: 3 },
    });
    expect(result).toMatchObject(failed("call_limit", /Cannot make 10 calls at once/));
    expect(execute).not.toHaveBeenCalled();
  });

  test("more calls than may execute at once are queued, not refused", async () => {
    let running = 0;
    let most = 0;
    const result = await start(
      "return (await Promise.all(Array.from({ length: 50 }, (_, i) => tools.t(i)))).length",
      {
        tools: {
          t: {
            execute: async (input) => {
              most = Math.max(most, ++running);
              await new Promise(setImmediate);
              running--;
              return input;
            },
          },
        },
        limits: { callsInFlight: 4 },
      },
    );
    expect(result).toMatchObject({ status: "completed", value: 50 });
    expect(most).toBe(4);
  });

  test("a source over the limit is refused before anything is started", async () => {
    const result = await start(`return "${"ä".repeat(100)}"`, { limits: { sourceBytes: 100 } });
    expect(result).toMatchObject(failed("source_limit", /The source has 209 bytes, at most 100/));
  });

  test("an abort before the start and during the run ends it", async () => {
    expect(await start("return 1", { signal: AbortSignal.abort("too late") })).toMatchObject(
      failed("aborted", "The run was aborted: too late"),
    );
    const abort = new AbortController();
    const result = start("await tools.hang({})", {
      signal: abort.signal,
      tools: {
        hang: {
          execute: () => {
            abort.abort(new Error("enough"));
            return new Promise(() => {});
          },
        },
      },
    });
    expect(await result).toMatchObject(failed("aborted", "The run was aborted: enough"));
  });

  test("a run past its wall time says what it was waiting for", async () => {
    // Long enough for the call to be made on a busy machine.
    const result = await start("await tools.hang({})", {
      tools: { hang: { execute: () => new Promise(() => {}) } },
      limits: { wallTimeMs: 3000 },
    });
    expect(result).toMatchObject(
      failed("timeout", 'The run took longer than 3000 ms while waiting for "hang": do less in one run'),
    );
  });

  test("misuse by the host programmer throws", () => {
    expect(() => host.start({ source: 5 as never })).toThrow(TypeError);
    expect(() => host.start({ source: "", language: "python" as never })).toThrow(
      'no such language "python"',
    );
    expect(() => host.start({ source: "", limits: { nope: 1 } as never })).toThrow(RangeError);
    expect(() => createHost({ workers: 0 })).toThrow(RangeError);
    for (const leaseMs of [0, 1.5, 2 ** 31]) expect(() => createHost({ leaseMs })).toThrow("leases of");
  });

  test("runs over the host's bound are refused, not queued", async () => {
    await using small = createHost({ workers: 1, liveRuns: 1 });
    const gate = Promise.withResolvers<number>();
    const first = small.start({
      source: "return await tools.wait({})",
      tools: { wait: { execute: () => gate.promise } },
    });
    expect(await small.start({ source: "return 1" }).result).toMatchObject(
      failed("too_many_runs", /1 are live already/),
    );
    gate.resolve(7);
    expect(await first.result).toMatchObject({ value: 7 });
    expect(await small.start({ source: "return 1" }).result).toMatchObject({ value: 1 });
  });

  test("a closed host ends its runs and refuses new ones", async () => {
    const closing = createHost({ workers: 1 });
    const live = closing.start({
      source: "await tools.wait({})",
      tools: { wait: { execute: () => new Promise(() => {}) } },
    });
    await closing[Symbol.asyncDispose]();
    expect(await live.result).toMatchObject(failed("aborted", "The run was aborted: the host was closed"));
    expect(await closing.start({ source: "return 1" }).result).toMatchObject(
      failed("aborted", /the host is closed/),
    );
  });
});

describe("events", () => {
  test("tell the run's story in order, to every reader", async () => {
    const handle = host.start({ source: "console.log('hi'); await tools.echo({ a: 1 }); return 1", tools });
    const read = async (): Promise<RunEvent[]> => {
      const events: RunEvent[] = [];
      for await (const event of handle.events) events.push(event);
      return events;
    };
    const [early, other] = await Promise.all([read(), read()]);
    expect(early).toEqual(other);
    expect(await read()).toEqual(early);
    expect(early.map(({ type }) => type)).toEqual(["run-start", "log", "call-start", "call-end", "run-end"]);
    expect(early[2]).toMatchObject({ tool: "echo", index: 0, callId: `${handle.runId}:0`, input: { a: 1 } });
    expect(early[3]).toMatchObject({ outcome: { status: "completed", outputBytes: 7 } });
  });
});

describe("suspension", () => {
  const gated: ToolSet = {
    ...tools,
    gate: {
      execute: (input, call) =>
        call.resolution === undefined ? call.suspend({ ask: input }) : call.resolution,
    },
  };

  test("a tool suspends the run, and a token resumes it where it stopped", async () => {
    const source =
      "const seen = []; seen.push(await tools.echo('before')); console.log('once'); seen.push(await tools.gate('?')); console.log('after'); return seen";
    const result = await start(source, { tools: gated });
    if (result.status !== "suspended") throw new Error(result.status);
    const { token, pending } = result.suspension;
    expect(pending).toEqual([
      { callId: `${result.runId}:1`, tool: "gate", input: "?", payload: { ask: "?" } },
    ]);
    const echo = vi.fn<(input: unknown) => unknown>((input) => input);
    const resumed = await host.resume({
      token,
      tools: { ...gated, echo: { execute: echo } },
      resolutions: { [`${result.runId}:1`]: { resolution: "yes" } },
    }).result;
    expect(resumed).toMatchObject({ status: "completed", value: ["before", "yes"], runId: result.runId });
    expect(resumed.logs.map(({ text }) => text)).toEqual(["after"]);
    expect(echo).not.toHaveBeenCalled();
  });

  test("a denied call fails inside the guest, and the token is used up", async () => {
    const result = await start(
      "try { return await tools.gate(1) } catch (e) { return [e.code, e.message] }",
      { tools: gated },
    );
    if (result.status !== "suspended") throw new Error(result.status);
    const { token, pending } = result.suspension;
    const callId = pending[0]?.callId ?? "";
    const denied = await host.resume({ token, tools: gated, resolutions: { [callId]: { deny: "no" } } })
      .result;
    expect(denied).toMatchObject({ value: ["denied", 'Cannot call tool "gate": no'] });
    const again = await host.resume({ token, tools: gated, resolutions: { [callId]: { resolution: 1 } } })
      .result;
    expect(again).toMatchObject(failed("token_used", /was used before/));
  });

  test("several pending calls are one suspension and may be resolved in any subset", async () => {
    const result = await start("return await Promise.all([tools.gate('a'), tools.gate('b')])", {
      tools: gated,
    });
    if (result.status !== "suspended") throw new Error(result.status);
    const [a, b] = result.suspension.pending;
    const half = await host.resume({
      token: result.suspension.token,
      tools: gated,
      resolutions: { [a?.callId ?? ""]: { resolution: 1 } },
    }).result;
    if (half.status !== "suspended") throw new Error(half.status);
    expect(half.suspension.pending).toEqual([b]);
    const whole = await host.resume({
      token: half.suspension.token,
      tools: gated,
      resolutions: { [b?.callId ?? ""]: { resolution: 2 } },
    }).result;
    expect(whole).toMatchObject({ status: "completed", value: [1, 2] });
  });

  test("a timer that fired before the suspension does not fire again", async () => {
    const source =
      "let fired = 0; await new Promise((r) => setTimeout(() => { fired++; r() }, 1)); await tools.gate(1); return fired";
    const result = await start(source, { tools: gated });
    if (result.status !== "suspended") throw new Error(result.status);
    const callId = result.suspension.pending[0]?.callId ?? "";
    const { token } = result.suspension;
    expect(
      await host.resume({ token, tools: gated, resolutions: { [callId]: { resolution: 1 } } }).result,
    ).toMatchObject({ value: 1 });
  });

  test("another host with the same key resumes it, and a host with another key refuses it", async () => {
    const sealKey = new Uint8Array(32).fill(3);
    await using first = createHost({ workers: 1, sealKey });
    await using second = createHost({ workers: 1, sealKey });
    const result = await first.start({ source: "return await tools.gate(1)", tools: gated }).result;
    if (result.status !== "suspended") throw new Error(result.status);
    const { token, pending } = result.suspension;
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: "elsewhere" } };
    expect(await host.resume({ token, tools: gated, resolutions }).result).toMatchObject(
      failed("token_key", /a key this host does not have/),
    );
    expect(await second.resume({ token, tools: gated, resolutions }).result).toMatchObject({
      value: "elsewhere",
    });
  });
});

describe("suspension, misused", () => {
  test("a payload that is not JSON fails the call, not the process", async () => {
    const result = await start("try { await tools.gate(1) } catch (e) { return e.code }", {
      tools: { gate: { execute: (_input, call) => call.suspend(1n as never) } },
    });
    expect(result).toMatchObject({ status: "completed", value: "invalid_output" });
  });

  test("a resume without resolutions leaves the run suspended, and nothing is lost", async () => {
    const gate: ToolSet = { gate: { execute: (_input, call) => call.resolution ?? call.suspend("ask") } };
    const result = await start("return await tools.gate(1)", { tools: gate });
    if (result.status !== "suspended") throw new Error(result.status);
    const again = await host.resume({ token: result.suspension.token, tools: gate }).result;
    if (again.status !== "suspended") throw new Error(again.status);
    expect(again.suspension.pending).toEqual(result.suspension.pending);
    const resolutions = { [again.suspension.pending[0]?.callId ?? ""]: { resolution: 5 } };
    expect(() =>
      host.resume({ token: again.suspension.token, tools: gate, resolutions: null as never }),
    ).toThrow(TypeError);
    expect(() => host.resume({ token: 5 as never, resolutions })).toThrow("either its token or its id");
    expect(
      await host.resume({ token: again.suspension.token, tools: gate, resolutions }).result,
    ).toMatchObject({ value: 5 });
  });

  test("log lines dropped before a suspension are not counted again", async () => {
    const gate: ToolSet = { gate: { execute: (_input, call) => call.resolution ?? call.suspend("ask") } };
    const result = await start(
      "for (let i = 0; i < 10; i++) console.log('x'.repeat(84)); await tools.gate(1); console.log('x'); return 1",
      {
        tools: gate,
        limits: { logBytes: 500 },
      },
    );
    if (result.status !== "suspended") throw new Error(result.status);
    expect([result.logs.length, result.logsDropped]).toEqual([5, 5]);
    const resolutions = { [result.suspension.pending[0]?.callId ?? ""]: { resolution: 5 } };
    const resumed = await host.resume({ token: result.suspension.token, tools: gate, resolutions }).result;
    expect([resumed.logs.length, resumed.logsDropped]).toEqual([0, 1]);
  });
});

describe("replay", () => {
  test("repeats a run from its ledger without any tool", async () => {
    const source =
      "const t = Date.now(); const r = Math.random(); console.log('x'); const got = await Promise.all([tools.echo(r), tools.fail({}).catch((e) => e.message)]); return [t, r, got]";
    const handle = host.start({ source, tools });
    const original = await handle.result;
    const again = await host.replay(handle.ledger()).result;
    expect(again).toMatchObject({
      status: "completed",
      value: (original as { value: unknown }).value as object,
      logs: original.logs,
    });
  });

  test("a program that differs from its ledger is refused", async () => {
    const handle = host.start({ source: "return await tools.echo(1)", tools });
    await handle.result;
    const ledger = handle.ledger();
    const changed = await host.replay({ ...ledger, source: "return await tools.echo(2)" }).result;
    expect(changed).toMatchObject(failed("replay_diverged", /other calls/u));
    const longer = await host.replay({ ...ledger, source: "await tools.echo(1); return await tools.echo(2)" })
      .result;
    expect(longer).toMatchObject(failed("replay_diverged", /calls that its ledger does not hold/));
    const cut = await host.replay({ ...ledger, deliveries: [] }).result;
    expect(cut).toMatchObject(failed("replay_diverged", /the ledger ends while the program still waits/));
  });

  test("a run replays to its end, although that takes longer than its limit", async () => {
    const source = "let n = 0; for (let i = 0; i < 3e6; i++) n += i % 7; return await tools.echo(n)";
    const handle = host.start({ source, tools, limits: { wallTimeMs: 60_000 } });
    const { value } = (await handle.result) as { value: unknown };
    const ledger = handle.ledger();
    const hurried = { ...ledger, limits: { ...ledger.limits, wallTimeMs: 10 } };
    expect(await host.replay(hurried).result).toMatchObject({ status: "completed", value });
  });

  test("a run that was stopped while it computed replays to the same end", async () => {
    const handle = host.start({ source: "for (;;) await null", tools, limits: { wallTimeMs: 100 } });
    const original = (await handle.result) as { failure: object };
    expect(original).toMatchObject(failed("timeout", /longer than 100 ms/));
    expect(await host.replay(handle.ledger()).result).toMatchObject({ failure: original.failure });
  });

  test("a run the host ended replays to the same end", async () => {
    const handle = host.start({
      source: "await tools.hang({})",
      tools: { hang: { execute: () => new Promise(() => {}) } },
      limits: { wallTimeMs: 30 },
    });
    const original = await handle.result;
    expect(await host.replay(handle.ledger()).result).toMatchObject({
      failure: (original as { failure: object }).failure,
    });
  });
});
