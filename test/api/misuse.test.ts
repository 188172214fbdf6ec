/**
 * Mistakes of a host's programmer: they throw at once with a clear message, or deny the call. None ends the process.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import {
  type CallContext,
  createHost,
  type Decision,
  type HostError,
  run,
  type StartOptions,
} from "codecell";
import { createChecker } from "codecell/check";
import { createMemoryStore } from "codecell/store";
import {
  codeModeTool,
  continueCodeModeApproval,
  continueCodeModeInterrupt,
  continueCodeModeInterrupts,
  createCodeModeTool,
  createExecWaitTools,
  runCodeMode,
} from "codecell/ai";
import { createCatalog } from "codecell/catalog";
import { withTracing } from "codecell/otel";
import { createAgentRuntime, prepareAgentRun } from "codecell/surface";
import { describe, expect, test } from "vitest";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";
import { echo, failureOf, host, valueOf } from "./harness.ts";

const ledgerOf = async () => {
  const handle = host.start({ source: "return await tools.echo(1)", tools: echo });
  await handle.result;
  return handle.ledger();
};
const context = { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" };

describe("wrong options", () => {
  const ledger = ledgerOf();

  test.each<[string, (given: never) => unknown]>([
    ["run", (given) => run(given)],
    ["host.start", (given) => host.start(given)],
    ["host.resume", (given) => host.resume(given)],
    ["host.fork", async (given) => host.fork(await ledger, given)],
    ["host.discard", (given) => host.discard(given)],
    ["prepareAgentRun", (given) => prepareAgentRun(given)],
  ])("of %s throw a clear message [host:misuse]", async (name, use) => {
    for (const given of [undefined, null, 5, [], "return 1"]) {
      const using = async (): Promise<unknown> => use(given as never);
      await expect(using()).rejects.toThrow(TypeError);
      await expect(using()).rejects.toThrow(/^Cannot [a-z ]+: expected an object of options, it is /u);
    }
    // Like other misuse, this throws before anything is returned.
    if (name === "run" || name === "host.start") {
      expect(() => use(undefined as never)).toThrow("Cannot start a run: expected an object of options");
    }
  });

  test("for a host throw a clear message [host:misuse]", () => {
    expect(() => createHost(null as never)).toThrow("Cannot create a host: expected an object of options");
    expect(() => createHost({ onError: "log" as never })).toThrow("onError must be a function");
  });

  test.each<[string, object, string]>([
    ["null for its store", { store: null }, "store must be a Store, such as createMemoryStore() gives"],
    ["an object for its store", { store: {} }, "it has no put()"],
    [
      "a store without leases",
      { store: Object.assign(Object.create(createMemoryStore()), { renew: undefined }) },
      "it has no renew()",
    ],
    ["null for its limits", { limits: null }, "limits must be an object of limits by their names"],
    ["a list for its limits", { limits: [5] }, "limits must be an object of limits by their names"],
    ["null for its check", { check: null }, "check must be an object with a checker, of createChecker()"],
    ["a check without a checker", { check: {} }, "check must be an object with a checker"],
    ["a checker for its check", { check: { check: () => 0 } }, "check must be an object with a checker"],
  ])("such as %s are refused by a host, not by its first run [host:misuse]", (_what, wrong, problem) => {
    expect(() => createHost(wrong as never)).toThrow(TypeError);
    expect(() => createHost(wrong as never)).toThrow(/^Cannot create a host: /u);
    expect(() => createHost(wrong as never)).toThrow(problem);
  });

  test.each<[string, object, string]>([
    ["null for its limits", { limits: null }, "limits must be an object of limits by their names"],
    ["a text for its limits", { limits: "none" }, "limits must be an object of limits by their names"],
    ["a number for its catalog", { catalog: 5 }, "catalog must be the globals of a catalog"],
  ])("such as %s start nothing [host:misuse]", (_what, wrong, problem) => {
    expect(() => host.start({ source: "return 1", ...wrong })).toThrow(`Cannot start a run: ${problem}`);
  });

  test.each<[string, unknown, string]>([
    ["null", null, "expected an object with lists of patterns"],
    ["a list", ["x"], "expected an object with lists of patterns"],
    ["a text to deny", { deny: "x" }, "deny must be a list of patterns"],
    ["a text to allow", { allow: "x" }, "allow must be a list of patterns"],
    ["a mistyped key", { denied: ["x"] }, 'it has "denied", a policy has allow and deny'],
  ])("such as %s for a policy throw, and do not deny by accident [host:misuse]", (_what, policy, problem) => {
    const wrong = { policy: policy as never };
    const message = `Cannot use the policy: ${problem}`;
    expect(() => createCatalog([], wrong)).toThrow(message);
    expect(() => prepareAgentRun({ config: true, tools: {}, context, ...wrong })).toThrow(message);
  });

  test("for catalogs, checkers and runtimes throw a clear message [host:misuse]", () => {
    expect(() => createCatalog(undefined as never)).toThrow("expected a list of sources");
    expect(() => createCatalog([], null as never)).toThrow("expected an object of options");
    expect(() => createChecker(null as never)).toThrow("Cannot create a checker: expected an object");
    expect(() => createAgentRuntime(null as never)).toThrow("Cannot create an agent runtime: expected an");
    expect(() => createExecWaitTools({}, undefined as never)).toThrow(
      "Cannot create exec and wait: expected",
    );
  });

  test.each<[string, object, string]>([
    ["a controller for its signal", { signal: new AbortController() }, "give the controller's signal"],
    ["an object for a signal", { signal: {} }, "signal must be an AbortSignal"],
    ["a text for a signal", { signal: "abort" }, "signal must be an AbortSignal"],
    ["a policy that is not a function", { authorize: "allow" }, "authorize must be a function"],
    ["a mapCallFailure that is not a function", { mapCallFailure: {} }, "mapCallFailure must be a function"],
    ["a listener that is not a function", { onError: {} }, "onError must be a function"],
    ["an unknown deadline", { atDeadline: "wait" }, 'atDeadline must be "fail" or "suspend"'],
  ])("such as %s are refused by every entry point [host:misuse]", async (_what, wrong, problem) => {
    const made = await ledger;
    expect(() => host.start({ source: "return 1", ...wrong })).toThrow(`Cannot start a run: `);
    expect(() => host.start({ source: "return 1", ...wrong })).toThrow(problem);
    expect(() => host.resume({ token: "t", ...wrong })).toThrow(problem);
    expect(() => host.fork(made, { atCall: 0, ...wrong })).toThrow(problem);
  });

  test("for an agent run are refused [host:misuse]", () => {
    const prepare = (wrong: object): unknown =>
      prepareAgentRun({ config: true, tools: {}, context, ...wrong });
    expect(() => prepare({ context: { ...context, abortSignal: new AbortController() } })).toThrow(
      "context.abortSignal must be an AbortSignal",
    );
    expect(() => prepare({ context: undefined })).toThrow("without its context: expected an object");
    expect(() => prepare({ approve: "allow" })).toThrow("approve must be a function");
    expect(() => prepare({ onError: 5 })).toThrow("onError must be a function");
  });

  test("with unknown names are refused: nobody must believe that a misspelt policy is in force [host:misuse]", async () => {
    const made = await ledger;
    const wrong = { authorise: () => ({ deny: "no" }) } as object;
    const message = 'a run: no such option "authorise", known are tools, signal, ';
    expect(() => host.start({ source: "return 1", ...wrong })).toThrow(`Cannot start ${message}`);
    expect(() => run({ source: "return 1", ...wrong })).toThrow(`Cannot start ${message}`);
    expect(() => host.resume({ token: "t", ...wrong })).toThrow(`Cannot resume ${message}`);
    expect(() => host.fork(made, { atCall: 0, ...wrong })).toThrow(`Cannot fork ${message}`);
    expect(() => createHost({ encrypted: true } as object)).toThrow(
      'Cannot create a host: no such option "encrypted", known are workers, ',
    );
    expect(() => createAgentRuntime({ hosts: host } as object)).toThrow(
      'Cannot create an agent runtime: no such option "hosts", known are host, suspendedPrograms',
    );
    const tools = {};
    const misspelt = [{ approval: () => "allow" }, { beforeToolcall: () => {} }] as const;
    expect(() => prepareAgentRun({ config: true, tools, context, ...misspelt[0] })).toThrow(
      'Cannot prepare an agent run: no such option "approval", known are config, ',
    );
    expect(() => createExecWaitTools(tools, { context, ...misspelt[1] })).toThrow(
      'Cannot prepare an agent run: no such option "beforeToolcall", known are config, ',
    );
    expect(() => createCatalog([], { polices: {} } as object)).toThrow(
      'Cannot create a catalog: no such option "polices", known are ',
    );
  });

  test("of hosts, lists and tracers by names that nobody reads are refused [host:misuse]", async () => {
    await using store = createMemoryStore();
    const wrong = { scpoe: "ana" } as object;
    await expect(host.discard({ id: "r", ...wrong })).rejects.toThrow(
      'Cannot discard a run: no such option "scpoe", known are token, id, scope',
    );
    const message = 'a run: no such option "scpoe", known are id, scope';
    await expect(host.readEnded({ id: "r", ...wrong })).rejects.toThrow(`Cannot read ${message}`);
    await expect(host.deleteEnded({ id: "r", ...wrong })).rejects.toThrow(`Cannot delete ${message}`);
    // Without its scope, the list would have the runs of everybody.
    await expect(store.list(wrong)).rejects.toThrow('Cannot list runs: no such option "scpoe", known are ');
    const keepEnded = { forMs: 1000, run: 5 } as object as { forMs: number };
    expect(() => createHost({ store, keepEnded })).toThrow(
      'Cannot create a host: no such option "keepEnded.run", known are forMs, runs, bytes',
    );
    const check = { checker: { check: () => {} }, declares: () => "" } as never;
    expect(() => createHost({ check })).toThrow('no such option "check.declares", known are checker, ');
    expect(() => createChecker({ checkTime: 5 } as object)).toThrow(
      'Cannot create a checker: no such option "checkTime", known are typescript, checkTimeMs',
    );
    expect(() => withTracing(host, { trace: {} } as object)).toThrow(
      'Cannot trace a host: no such option "trace", known are tracer',
    );
    expect(() => withTracing(host, { tracer: {} as never })).toThrow("with startSpan()");
  });

  test.each<[string, object]>([
    ["a misspelt denial", { resolution: true, denied: "no" }],
    ["a denial in other words", { resolution: true, approved: false }],
  ])("%s beside a resolution does not allow the call [host:misuse]", async (_what, resolution) => {
    const tools = {
      pay: { execute: (_: unknown, call: CallContext) => call.resolution ?? call.suspend("May it?") },
    };
    const result = await host.start({ source: "return await tools.pay()", tools }).result;
    if (result.status !== "suspended") throw new Error("Not suspended");
    const { token, pending } = result.suspension;
    const resolutions = { [pending[0]?.callId ?? ""]: resolution as { resolution: boolean } };
    const name = Object.keys(resolution)[1];
    expect(() => host.resume({ token, tools, resolutions })).toThrow(
      new RegExp(
        `^Cannot resume a run: no such option "resolutions\\[.*\\]\\.${name}", known are resolution, deny$`,
        "u",
      ),
    );
    // The token was not used up.
    const allowed = { [pending[0]?.callId ?? ""]: { resolution: true } };
    expect(await host.resume({ token, tools, resolutions: allowed }).result).toMatchObject({ value: true });
  });

  test.each<[string, object, string]>([
    ["a text for approvals", { approval: "interrupt" }, "approval must be an object of options"],
    [
      "a misspelt mode of approvals",
      { approval: { mode: "interupt" } },
      'approval.mode must be "callback" or "interrupt"',
    ],
    [
      "approvals by a text",
      { approval: { onApprovalRequired: "denied" } },
      "approval.onApprovalRequired must be a function",
    ],
    ["a number for limits", { executionPolicy: 5 }, "executionPolicy must be an object of options"],
    ["null for approvals", { approval: null }, "approval must be an object of options"],
    ["a list for approvals", { approval: ["interrupt"] }, "approval must be an object of options"],
    ["null for their mode", { approval: { mode: null } }, 'approval.mode must be "callback" or "interrupt"'],
    ["null for telemetry", { telemetry: null }, "telemetry must be an object of options"],
    ["null for the model's output", { modelOutput: null }, "modelOutput must be an object of options"],
    ["null for hooks", { lifecycle: null }, "lifecycle must be an object of options"],
    ["null for limits", { executionPolicy: null }, "executionPolicy must be an object of options"],
    ["null for continuations", { continuation: null }, "continuation must be an object of options"],
  ])("of code mode of the wrong kind are refused: %s [host:misuse]", async (_what, wrong, problem) => {
    const message = `Cannot run code mode: ${problem}`;
    expect(() => createCodeModeTool({}, wrong)).toThrow(message);
    expect(() => codeModeTool(wrong)).toThrow(message);
    await expect(runCodeMode({ js: "return 1", tools: {}, options: wrong })).rejects.toThrow(message);
  });

  test.each<[string, object]>([
    ["approvals", { approvals: {} }],
    ["modelOutput.includeOutputs", { modelOutput: { includeOutputs: false } }],
    ["approval.onApproval", { approval: { onApproval: () => "denied" } }],
    ["executionPolicy.timeout", { executionPolicy: { timeout: 5 } }],
    ["lifecycle.onTool", { lifecycle: { onTool: () => {} } }],
    ["continuation.scopes", { continuation: { scopes: "a" } }],
    ["telemetry.recordInput", { telemetry: { recordInput: false } }],
  ])("of code mode by names that nobody reads are refused: %s [host:misuse]", async (name, wrong) => {
    const message = `Cannot run code mode: no such option "${name}", known are `;
    expect(() => createCodeModeTool({}, wrong)).toThrow(message);
    expect(() => codeModeTool(wrong)).toThrow(message);
    await expect(runCodeMode({ js: "return 1", tools: {}, options: wrong })).rejects.toThrow(message);
  });

  test("of code mode that are null are refused [host:misuse]", async () => {
    const message = "Cannot run code mode: expected an object of options, it is null";
    expect(() => createCodeModeTool({}, null as never)).toThrow(message);
    expect(() => codeModeTool(null as never)).toThrow(message);
    const options = null as never;
    await expect(runCodeMode({ js: "return 1", tools: {}, options })).rejects.toThrow(message);
  });

  test("of the AI SDK's own telemetry are no mistake, since both may be given the same", async () => {
    const more = { integrations: [], includeRuntimeContext: { tenant: true }, includeToolsContext: {} };
    const options = { telemetry: { isEnabled: false, ...more } };
    expect(await runCodeMode({ js: "return 1", tools: {}, options })).toBe(1);
  });

  test.each<[string, object]>([
    ["timeout", { enabled: true, timeout: 5000 }],
    ["languges", { enabled: true, languges: ["typescript"] }],
    ["enabeld", { enabeld: true }],
  ])("of a configuration by names that nobody reads are refused: %s [host:misuse]", (name, config) => {
    const message = `Cannot prepare an agent run: no such option "config.${name}", known are enabled, runtime, `;
    expect(() => prepareAgentRun({ config, tools: {}, context })).toThrow(message);
    expect(() => createExecWaitTools({}, { config, context })).toThrow(message);
  });

  test("of code mode beside `options`, and of a trajectory, are refused [host:misuse]", async () => {
    const approval = { toolApproval: { pay: "user-approval" } } as const;
    const started = { js: "return 1", tools: {}, approval };
    await expect(runCodeMode(started)).rejects.toThrow('Cannot run code mode: no such option "approval"');
    const continued = { interrupt: {} as never, resolution: 1, tools: {}, approval };
    await expect(continueCodeModeInterrupt(continued)).rejects.toThrow('no such option "approval"');
    const several = { interrupt: {} as never, resolutions: {}, tools: {}, approval };
    await expect(continueCodeModeInterrupts(several)).rejects.toThrow('no such option "approval"');
    const answered = {
      interrupt: {} as never,
      approvalResponse: { approvalId: "a", approved: true },
      tools: {},
      approval,
    };
    await expect(continueCodeModeApproval(answered)).rejects.toThrow('no such option "approval"');
    const trajectory = { redcat: () => undefined } as object;
    expect(() => prepareAgentRun({ config: true, tools: {}, context, trajectory })).toThrow(
      'Cannot prepare an agent run: no such option "trajectory.redcat", known are maxBytes, ',
    );
  });

  test("that are undefined do no harm, whatever their names", async () => {
    const more = { authorise: undefined } as object;
    expect(await valueOf("return 1", more)).toBe(1);
  });

  test("a signal of another implementation is taken", async () => {
    const signal = Object.assign(new EventTarget(), { aborted: false, reason: undefined });
    expect(await valueOf("return 1", { signal: signal as unknown as AbortSignal })).toBe(1);
  });
});

describe("a value that is not a decision", () => {
  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["true", true],
    ["false", false],
    ["another word", "yes"],
    ["a function", () => "allow"],
    ["an empty object", {}],
    ["another object", { allow: true }],
    ["a list", ["allow"]],
    ["a denial without words", { deny: true }],
    ["a denial of nothing", { deny: undefined }],
  ])("denies: %s [policy:fails-closed]", async (_what, given) => {
    const told: HostError[] = [];
    const options: Omit<StartOptions, "source"> = {
      tools: { pay: { execute: () => "paid" } },
      authorize: () => given as Decision,
      onError: (report) => told.push(report),
    };
    const source = "return await tools.pay({}).catch(({ code, message }) => [code, message])";
    const text = 'Cannot call tool "pay": it could not be authorised';
    expect(await valueOf(source, options)).toEqual(["denied", text]);
    expect(told).toMatchObject([{ source: "authorize", tool: "pay" }]);
    expect(String(told[0]?.error)).toMatch(
      /^TypeError: authorize gave .+ is not a decision: give "allow", /u,
    );
  });

  test("a deny beside a suspend denies [policy:fails-closed]", async () => {
    const authorize = () => ({ deny: "no", suspend: { ask: "me" } });
    const failure = await failureOf("await tools.echo(1)", { tools: echo, authorize });
    expect(failure.message).toContain('Cannot call tool "echo": no');
  });
});

describe("a process with permissions", () => {
  const code = `
    import { createHost } from "codecell";
    const errors = [];
    const host = createHost({ workers: 2, onError: ({ source, error }) => errors.push([source, error.code]) });
    const runs = [1, 2].map(() => host.start({ source: "return 42" }).result);
    const results = [...await Promise.all(runs), await host.start({ source: "return 42" }).result];
    console.log(JSON.stringify([results.map(({ value, failure, cause }) => [value ?? failure, cause?.code]), errors]));
    await host[Symbol.asyncDispose]();`;

  async function ran(...allowed: string[]): Promise<unknown> {
    const flags = [...SOURCE_FLAGS, "--permission", ...allowed, "--input-type=module", "--eval", code];
    const { stdout } = await promisify(execFile)(process.execPath, flags, { timeout: 60_000 });
    return JSON.parse(stdout);
  }

  test("that may not start threads says what to allow, for each run [host:permissions]", async () => {
    const failure = {
      code: "unavailable",
      message:
        "The sandbox could not run the program: this process may not start worker threads, start Node.js with --allow-worker beside --permission",
    };
    const denied = [failure, "ERR_ACCESS_DENIED"];
    const told = ["sandbox", "ERR_ACCESS_DENIED"];
    expect(await ran("--allow-fs-read=*")).toEqual([
      [denied, denied, denied],
      [told, told, told],
    ]);
  }, 90_000);

  test("that may start them runs programs", async () => {
    const done = [42, null];
    expect(await ran("--allow-fs-read=*", "--allow-worker")).toEqual([[done, done, done], []]);
  }, 90_000);
});
