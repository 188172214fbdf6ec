/** Calls that a program has not waited for when it returns: they fail the program if the run asks for that. */
import { createHost, type Failure, type RunHandle, type RunResult, type ToolSet } from "codecell";
import { afterAll, describe, expect, test } from "vitest";
import { killWorkers } from "../property/worker-threads.ts";
import { failureOf, host, valueOf } from "./harness.ts";
import { suspensionOf } from "./suspension-of.ts";

const detachedCalls = "fail";

/** `slow` ends when it is aborted or when `go` is called. */
class Office {
  readonly made: string[] = [];
  aborted = 0;
  readonly #gate = Promise.withResolvers<void>();
  readonly tools: ToolSet = {
    echo: {
      execute: (input) => {
        this.made.push("echo");
        return input;
      },
    },
    fail: {
      execute: () => {
        this.made.push("fail");
        throw new Error("no");
      },
    },
    slow: {
      execute: async (_input, { signal }) => {
        this.made.push("slow");
        const stopped = new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            this.aborted++;
            reject(new Error("stopped"));
          });
        });
        await Promise.race([this.#gate.promise, stopped]);
        return "slow";
      },
    },
    ask: { execute: (_input, call) => call.resolution ?? call.suspend("sure?") },
  };

  go(): void {
    this.#gate.resolve();
  }
}

const { tools } = new Office();
const options = { tools, detachedCalls } as const;

async function detachedOf(source: string, more: object = {}): Promise<Failure> {
  const failure = await failureOf(source, { ...options, ...more });
  expect(failure).toMatchObject({ code: "detached_call" });
  return failure;
}

describe("a call that nobody looked at fails the run [result:detached]", () => {
  test.each([
    ["unawaited", 'fetch("https://a.example/"); return 1'],
    ["unawaited", 'fetch("https://a.example/"); await tools.echo({}); return 1'],
    ["pending", 'fetch("https://a.example/slow").catch(() => {}); return 1'],
    [undefined, 'const response = await fetch("https://a.example/"); return response.status'],
    [undefined, 'return Promise.all([fetch("https://a.example/")]).then(([{ status }]) => status)'],
    [undefined, 'return fetch("https://a.example/").then(({ status }) => status)'],
  ])("a fetch is a call like any other: %s", async (state, source) => {
    const fetchPolicy = {
      allowedOrigins: ["https://a.example"],
      fetch: (url: unknown) =>
        String(url).endsWith("slow") ? new Promise<Response>(() => {}) : Promise.resolve(new Response("")),
    };
    const result = await host.start({ ...options, source, fetchPolicy }).result;
    expect(result.status === "failed" ? result.failure.details?.["state"] : result.status).toBe(
      state ?? "completed",
    );
  });

  test.each([
    ["and is pending", "tools.slow({}); return 1", "slow"],
    [
      "and has ended meanwhile",
      "tools.echo({}); await tools.echo({}); await tools.echo({}); return 1",
      "echo",
    ],
    [
      "and has failed meanwhile",
      "tools.fail({}); await tools.echo({}); await tools.echo({}); return 1",
      "fail",
    ],
    [
      "and is kept",
      "const p = tools.echo({}); console.log(p); await tools.echo({}); return typeof p",
      "echo",
    ],
    ["and is of no tool", "tools.no_such({}); await tools.echo({}); return 1", "no_such"],
    ["made after the return", "Promise.resolve().then(() => { tools.echo({}) }); return 1", "echo"],
    ["as the last expression's side", "tools.echo({}), 1", "echo"],
    ["beside a last expression that is no value", "tools.echo({}); () => 1", "echo"],
    ["inside the result", "return { p: tools.echo({}) }", "echo"],
    ["beside a result that cannot cross", "tools.echo({}); return { f() {} }", "echo"],
    ["inside a last expression", "({ p: tools.echo({}) })", "echo"],
    ["made while the result is read", "return { get a() { tools.echo({}); return 1 } }", "echo"],
    ["made while the result is written", "return { toJSON() { tools.echo({}); return 1 } }", "echo"],
    [
      "made while an error is read",
      "Promise.reject(Object.defineProperty(new Error('a'), 'message', { get() { tools.echo({}) } })); return 1",
      "echo",
    ],
  ])("%s", async (_name, source, tool) => {
    const failure = await detachedOf(source);
    expect(failure.details).toMatchObject({ tool, state: "unawaited" });
    expect(failure.message).toContain(`without waiting for its call of "${tool}"`);
  });
});

describe("a call that is still pending fails the run [result:detached]", () => {
  test.each([
    [
      "a setter of the program, which would swallow its error",
      'Object.defineProperty(Object.prototype, "error", { get() {}, set() {} }); tools.slow({}).then(() => {}); return 1',
    ],
    ["then", "tools.slow({}).then(() => {}); return 1"],
    ["catch", "tools.slow({}).catch(() => {}); return 1"],
    ["race", "return await Promise.race([tools.echo({ a: 1 }), tools.slow({})])"],
    ["any", "return await Promise.any([tools.echo({ a: 1 }), tools.slow({})])"],
    ["a function that nobody waits for", "(async () => { await tools.slow({}) })(); return 1"],
    ["reading its constructor", "const p = tools.slow({}); p.constructor; return 1"],
    [
      "a then of the program's own",
      "Promise.prototype.then = () => {}; tools.slow({}).constructor; return 1",
    ],
  ])("%s", async (_name, source) => {
    const failure = await detachedOf(source);
    expect(failure.details).toMatchObject({ tool: "slow", state: "pending" });
    expect(failure.message).toContain('while its call of "slow" was still pending');
  });
});

describe("a program that waits for its calls completes", () => {
  test.each([
    ["then", "tools.echo({}).then(() => {}); await tools.echo({}); await tools.echo({}); return 1", 1],
    ["side by side", "const p = tools.echo(1), q = tools.echo(2); return [await p, await q]", [1, 2]],
    ["all", "return await Promise.all([tools.echo(1), tools.echo(2)])", [1, 2]],
    ["allSettled", "return (await Promise.allSettled([tools.fail({})])).map((r) => r.status)", ["rejected"]],
    ["returned", "return tools.echo(1)", 1],
    ["last expression", "tools.echo(1)", 1],
    ["caught", "try { await tools.fail({}) } catch { return 'caught' }", "caught"],
    [
      "caught later",
      "const p = tools.fail({}); await tools.echo({}); return p.catch(() => 'caught')",
      "caught",
    ],
    ["a call that the guest refuses", "tools.echo(1n).catch(() => {}); return 1", 1],
    ["no call", "return 1", 1],
    ["a timer that is left", "setTimeout(() => tools.echo({}), 1e6); return 1", 1],
    [
      "for await",
      "const out = []; for await (const v of [tools.echo(1), tools.echo(2)]) out.push(v); return out",
      [1, 2],
    ],
  ])("%s", async (_name, source, value) => {
    expect(await valueOf(source, options)).toEqual(value);
  });
});

describe("other failures stay what they are", () => {
  test.each([
    ["a program that throws", "tools.slow({}); throw new Error('mine')", "guest_error", "mine"],
    ["a call that fails", "tools.slow({}); await tools.fail({})", "tool_failed", "no"],
    ["an invalid result", "await tools.echo({}); return { f() {} }", "guest_error", "function"],
    [
      "a rejection of an observed call",
      "tools.fail({}).then(() => {}); await tools.echo({}); await tools.echo({}); return 1",
      "tool_failed",
      "nobody handled it",
    ],
    ["a call that never crossed", "tools.echo(1n); return 1", "guest_error", "nobody handled it"],
    ["a deadlock", "tools.echo({}); await new Promise(() => {})", "deadlock", "nothing can settle"],
  ])("%s", async (_name, source, code, message) => {
    const failure = await failureOf(source, options);
    expect(failure.code).toBe(code);
    expect(failure.message).toContain(message);
  });
});

test("by default a run waits for its calls", async () => {
  for (const more of [{}, { detachedCalls: "wait" as const }]) {
    const office = new Office();
    const handle = host.start({ source: "tools.slow({}); return 1", tools: office.tools, ...more });
    for await (const event of handle.events) if (event.type === "call-start") office.go();
    expect(await handle.result).toMatchObject({ status: "completed", value: 1 });
    expect(office.aborted).toBe(0);
    expect(handle.ledger().features).not.toHaveProperty("detachedFails");
  }
});

test("the failure names the place of the call in the model's source, its id, and what to do", async () => {
  const handle = host.start({
    source: "await tools.echo({});\n  tools.echo({});\nawait tools.echo({}); return 1",
    ...options,
  });
  const result = await handle.result;
  expect(result).toMatchObject({
    status: "failed",
    failure: {
      code: "detached_call",
      position: { line: 2 },
      details: { tool: "echo", callId: `${handle.runId}:1`, state: "unawaited" },
    },
  });
  expect(failureIn(result).message).toMatch(/\(line 2, column \d+\): await every call/u);
  expect(result.stats.calls).toBe(3);
});

test("the failure has no place for a call that no line of the source makes", async () => {
  const failure = await detachedOf(
    "setTimeout(tools.echo, 0, {}); await new Promise((resolve) => setTimeout(resolve, 2)); return 1",
  );
  expect(failure).not.toHaveProperty("position");
  expect(failure.message).toContain('its call of "echo": await every call');
});

test("the failure names the first of several calls", async () => {
  const first = "tools.slow({}).catch(() => {}); tools.echo(1); await tools.echo(2); return 1";
  expect((await detachedOf(first)).details).toMatchObject({ tool: "slow", state: "pending" });
  const second = "tools.echo(1); tools.slow({}).catch(() => {}); await tools.echo(2); return 1";
  expect((await detachedOf(second)).details).toMatchObject({ tool: "echo", state: "unawaited" });
});

test("pending calls are aborted, and the run ends when they have stopped", async () => {
  const office = new Office();
  let ended = false;
  const slow: ToolSet[string] = {
    execute: async (_input, { signal }) => {
      await new Promise((resolve) => {
        signal.addEventListener("abort", () => setImmediate(resolve));
      });
      ended = true;
      return null;
    },
  };
  const source = "tools.slow({}).catch(() => {}); await tools.echo({}); return 1";
  const run = host.start({ source, tools: { ...office.tools, slow }, detachedCalls });
  expect(failureIn(await run.result).code).toBe("detached_call");
  expect(ended).toBe(true);
});

test("a call made in the burst of the return is not executed", async () => {
  const office = new Office();
  await detachedOf("await tools.echo({}); tools.fail({}); return 1", { tools: office.tools });
  expect(office.made).toEqual(["echo"]);
});

describe("yields are calls", () => {
  test.each([
    ["that nobody awaits", "yield_control('a'); return 1", "unawaited"],
    ["that is pending", "yield_control('a').then(() => {}); return 1", "pending"],
    ["that is passed on", "Promise.race([yield_control(), 1]); return 1", "pending"],
  ])("a yield %s", async (_name, source, state) => {
    const failure = await detachedOf(source, { mayYield: true });
    expect(failure.details).toMatchObject({ tool: "yield_control", state });
    expect(failure.position).toMatchObject({ line: 1 });
  });

  test("a yield that is waited for ends when the run is resumed, and gives undefined", async () => {
    const source =
      "const x = await yield_control('a'); return [x === undefined, yield_control.name, yield_control.length]";
    const { token } = suspensionOf(await host.start({ source, mayYield: true, detachedCalls }).result);
    expect(await host.resume({ token }).result).toMatchObject({ value: [true, "yield_control", 1] });
  });

  test("a yield with a wrong reason rejects and is not a call", async () => {
    const failure = await failureOf("yield_control(1); return 1", { mayYield: true, detachedCalls });
    expect(failure.code).toBe("guest_error");
  });

  test("a yield that nobody awaits, before a second yield suspends the run, fails the run after it is resumed", async () => {
    const source = "yield_control('a'); await yield_control('b'); return 1";
    const { token } = suspensionOf(await host.start({ source, mayYield: true, detachedCalls }).result);
    expect(failureIn(await host.resume({ token }).result).details).toMatchObject({ state: "unawaited" });
  });
});

describe("the same wherever the run goes on", () => {
  const other = createHost({ workers: 1 });
  afterAll(() => other[Symbol.asyncDispose]());

  test.each([
    "tools.slow({}); return 1",
    "tools.echo({}); await tools.echo({}); return 1",
    "tools.fail({}); await tools.echo({}); await tools.echo({}); return 1",
    "tools.slow({}).catch(() => {}); await tools.echo({}); return 1",
    "tools.fail({}).then(() => {}); await tools.echo({}); await tools.echo({}); return 1",
    "tools.echo({}).then(() => {}); await tools.echo({}); await tools.echo({}); return 1",
    "yield_control(); await tools.echo({}); return 1",
  ])("replayed: %s", async (source) => {
    const handle = host.start({ source, mayYield: true, ...options });
    const live = await handle.result;
    const ledger = JSON.parse(JSON.stringify(handle.ledger())) as ReturnType<RunHandle["ledger"]>;
    expect(ledger).toMatchObject({ features: { detachedFails: true } });
    expect(outcomeOf(await other.replay(ledger).result)).toEqual(outcomeOf(live));
  });

  // The program chooses the size, so that a short ledger and one worth a snapshot are both suspended.
  test.each([
    ["from its ledger", 1],
    ["from a snapshot", 60_000],
  ])("resumed elsewhere %s", async (_name, size) => {
    const source = (rest: string): string =>
      `const early = tools.echo('x'.repeat(${size})); const x = await tools.ask({}); ${rest}`;
    const sealKey = new Uint8Array(32).fill(7);
    await using here = createHost({ workers: 1, sealKey });
    await using there = createHost({ workers: 1, sealKey });
    const go = async (rest: string): Promise<RunResult> => {
      const first = suspensionOf(await here.start({ source: source(rest), ...options }).result);
      const callId = first.pending[0]?.callId ?? "";
      return there.resume({ token: first.token, tools, resolutions: { [callId]: { resolution: "yes" } } })
        .result;
    };
    expect(failureIn(await go("return x")).details).toMatchObject({ tool: "echo", state: "unawaited" });
    expect(await go("await early; return x")).toMatchObject({ status: "completed", value: "yes" });
    const failed = failureIn(await go("await early; tools.slow({}).then(() => {}); return x"));
    expect(failed.details).toMatchObject({ tool: "slow", state: "pending" });
  });

  test("rebuilt after its worker was lost", async () => {
    await using alone = createHost({ workers: 1 });
    const killing: ToolSet = {
      ...tools,
      kill: {
        execute: () => {
          killWorkers();
          return null;
        },
      },
    };
    for (const [early, status] of [
      ["tools.echo(1)", "failed"],
      ["await tools.echo(1)", "completed"],
    ] as const) {
      const result = await alone.start({
        source: `${early}; await tools.kill({}); return 1`,
        tools: killing,
        detachedCalls,
      }).result;
      expect(result.status).toBe(status);
      expect(result.stats.rebuilds).toBe(1);
      if (status === "failed")
        expect(failureIn(result).details).toMatchObject({ tool: "echo", state: "unawaited" });
    }
  });

  test("forked", async () => {
    const handle = host.start({ source: "tools.echo(1); await tools.echo(2); return 1", ...options });
    await handle.result;
    const forked = host.fork(handle.ledger(), { atCall: 1, tools });
    expect(failureIn(await forked.result)).toMatchObject({
      code: "detached_call",
      details: { callId: `${forked.runId}:0` },
    });
  });
});

test("helpers of the catalog profile are calls too", async () => {
  const catalog = { names: new Set<string>(), allTools: () => "[]" };
  const source = "tools.search('x'); return 1";
  const failure = await detachedOf(source, { catalog });
  expect(failure.details).toMatchObject({ state: "unawaited" });
});

describe("a hostile program fails itself and nothing else", () => {
  test.each([
    ["Promise is replaced", "globalThis.Promise = class {}; tools.echo({}); return 1"],
    [
      "its prototype is emptied",
      "for (const k of Reflect.ownKeys(Promise.prototype)) delete Promise.prototype[k]; tools.echo({}); return 1",
    ],
    [
      "Object.defineProperty is replaced",
      "Object.defineProperty = () => { throw 1 }; tools.echo({}); return 1",
    ],
    [
      "descriptors inherit",
      "Object.prototype.get = () => 1; Object.prototype.value = 1; Object.prototype.configurable = true; tools.echo({}); return 1",
    ],
    [
      "indices inherit",
      "Object.defineProperty(Object.prototype, 0, { set() { throw 1 }, get() { return 1 } }); tools.echo({}); return 1",
    ],
    ["errors have no stack", "Error.stackTraceLimit = 0; tools.echo({}); return 1"],
    [
      "the stack of errors throws",
      "Object.defineProperty(Error.prototype, 'stack', { get() { throw 1 }, set() { throw 1 } }); tools.echo({}); return 1",
    ],
    ["a promise is frozen", "Object.freeze(tools.echo({})); return 1"],
    ["deep down", "function f(n) { if (n > 0) f(n - 1); else tools.echo({}) } f(300); return 1"],
  ])("%s", async (_name, source) => {
    expect((await detachedOf(source)).details).toMatchObject({ tool: "echo", state: "unawaited" });
    expect(await valueOf("return await tools.echo(1)", options)).toBe(1);
  });
});

test("detachedCalls is one of two words or nothing", () => {
  for (const odd of ["abort", true, null, 1]) {
    expect(() => host.start({ source: "", detachedCalls: odd as never })).toThrow(
      'Cannot start a run: detachedCalls must be "wait" or "fail"',
    );
  }
});

function failureIn(result: RunResult): Failure {
  if (result.status !== "failed") throw new Error(`Not failed: ${JSON.stringify(result)}`);
  return result.failure;
}

function outcomeOf(result: RunResult): unknown {
  return result.status === "completed" ? result.value : failureIn(result);
}
