/**
 * Surfaces of calls: work on an input that a tool gives back, that somebody is asked about, or that waits in a
 * suspended run.
 */
import { jsonSchema } from "ai";
import { inTurns } from "../../packages/codecell/src/loop/turn.ts";
import { CallRunner } from "../../packages/codecell/src/calls/call-runner.ts";
import { type CallSetup, invoke } from "../../packages/codecell/src/calls/invoke.ts";
import { type CallMiddleware, VALIDATE } from "../../packages/codecell/src/calls/middleware.ts";
import type { AnyTool } from "../../packages/codecell/src/contract/tool.ts";
import type { Json } from "../../packages/codecell/src/contract/value.ts";
import { EventStream } from "../../packages/codecell/src/run/event-stream.ts";
import { assertResolutions, toKnown } from "../../packages/codecell/src/run/host/resolutions.ts";
import { createCatalog } from "../../packages/codecell/src/catalog/catalog.ts";
import { CATALOG_TOOLS } from "../../packages/codecell/src/contract/features.ts";
import { catalogTools } from "../../packages/codecell/src/surface/catalog-tools.ts";
import { AgentProgram } from "../../packages/codecell/src/surface/agent-program.ts";
import { NestedTools } from "../../packages/codecell/src/surface/calls/nested-tools.ts";
import { SavedValues } from "../../packages/codecell/src/surface/output/saved-values.ts";
import { Telemetry } from "../../packages/codecell/src/surface/record/telemetry.ts";
import { Trajectory } from "../../packages/codecell/src/surface/record/trajectory.ts";
import { toolCallIdOf } from "../../packages/codecell/src/adapters/ai-sdk/continuation.ts";
import { Hooks } from "../../packages/codecell/src/adapters/ai-sdk/events.ts";
import { InvocationCall } from "../../packages/codecell/src/adapters/ai-sdk/nested-call.ts";
import { createMiddleware } from "../../packages/codecell/src/adapters/ai-sdk/nested-tools.ts";
import { ModelOutput } from "../../packages/codecell/src/adapters/ai-sdk/model-output.ts";
import { TraceRecorder } from "../../packages/codecell/src/adapters/ai-sdk/trace-recorder.ts";
import { toCallSetup } from "../call-setup.ts";
import { INTERRUPT_SURFACES } from "./interrupt-surfaces.ts";
import { STORE_SURFACES } from "./store-surfaces.ts";
import {
  EXEC_LIMITS,
  INPUT,
  LIMITS,
  OUTPUT,
  parsed,
  RESULT,
  SETTINGS,
  type Surface,
  tool,
} from "./surface-parts.ts";
import { TRAJECTORY_SURFACES } from "./trajectory-surfaces.ts";

const judgeApart = async (): Promise<{ readonly kind: "fits" }> => ({ kind: "fits" });
const callOf = (input: string, execute: AnyTool["execute"]): CallSetup =>
  toCallSetup({ tools: { t: { ...tool, execute } }, input, limits: LIMITS, judgeApart });
/** Calls of a program of `exec` that wait at the same time: its suspended run has room for no more of this size. */
const EXEC_WAITING = Math.floor(EXEC_LIMITS.suspensionBytes / INPUT) - 1;
/** The tools of an agent run, without approvals. */
const nested = (): NestedTools =>
  new NestedTools({
    catalog: createCatalog([{ kind: "core", owner: "core", tools: { t: tool } }]),
    settings: SETTINGS,
    context: { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" },
    beforeToolCall: undefined,
    approve: undefined,
    telemetry: new Telemetry([], { size: 1, sources: {} }),
    trajectory: new Trajectory(),
    saved: new SavedValues({ maxBytes: 1024, maxValues: 1 }),
    connectors: undefined,
  });
/** A call of an agent's program, recorded from its events. */
const recorded = (
  input: string,
  execute: AnyTool["execute"],
  before: readonly CallMiddleware[] = [],
): Promise<unknown> => {
  const { middleware, onEvent } = nested().watch(new AgentProgram("c"), false);
  const events = new EventStream(onEvent);
  const runner = new CallRunner({
    runId: "r",
    features: {},
    tools: { t: { ...tool, execute } },
    limits: LIMITS,
    context: undefined,
    middleware: [...middleware, ...before],
    authorize: undefined,
    mapCallFailure: undefined,
    hostTools: {},
    signal: new AbortController().signal,
    judgeApart,
    deadline: { pause: () => {}, resume: () => {} },
    emit: (event, text) => events.emit(event, text),
    tellStep: (step) => events.tell(step),
    errors: { tell: () => {} },
  });
  return runner.execute(0, { tool: "t", input }, undefined);
};
/** What a program gets that loads a saved value. */
const loaded = async (json: string, options: object): Promise<unknown> => {
  const saved = new SavedValues({ maxBytes: json.length, maxValues: 1 });
  const input = JSON.stringify({ ref: saved.save(json), options });
  const catalog = createCatalog([{ kind: "core", owner: "core", tools: { t: tool } }]);
  const tools = catalogTools({ catalog, settings: SETTINGS, saved }, new Map(), {});
  const name = CATALOG_TOOLS.load;
  const outcome = await invoke(toCallSetup({ tools, tool: name, input, limits: EXEC_LIMITS, judgeApart }));
  if (outcome.kind !== "output") throw new Error(`Nothing was loaded: ${JSON.stringify(outcome)}`);
  return outcome;
};
const asksFor = async (input: Json): Promise<unknown> => {
  const sdkTool = { inputSchema: jsonSchema({}), needsApproval: true, execute: () => null } as never;
  let begun: InvocationCall | undefined;
  const { [VALIDATE]: validate, decide } = createMiddleware({
    tools: { t: sdkTool },
    approval: { mode: "interrupt" },
    execution: {},
    resolutions: new Map(),
    begin: async (callId, name, given) => (begun = new InvocationCall(callId, name, given, "c")),
    callOf: () => begun,
    complete: () => {},
    ending: undefined,
    track: async (_, execute) => execute(),
  });
  const { signal } = new AbortController();
  const one = { runId: "r", callId: "r:0", tool: "t", input, signal };
  const call = { ...one, context: undefined, resolution: undefined };
  await validate?.(call, async (value) => ({ ok: true, value }));
  return decide?.(call);
};
/** The trace of an invocation with a hook. */
const watched = (): TraceRecorder =>
  new TraceRecorder("i", "c", new Hooks({ onNestedToolCall: () => {} }), {
    outputOf: () => undefined,
    errorOf: () => undefined,
    forget: () => {},
  });

export const CALL_SURFACES: readonly Surface[] = [
  {
    name: "call: a tool that gives its input back",
    given: "json",
    most: INPUT,
    prepare: (json) => () => invoke(callOf(json, (input) => input)),
  },
  {
    name: "call: a tool that suspends with its input",
    given: "json",
    most: INPUT,
    prepare: (json) => () => invoke(callOf(json, (input, { suspend }) => suspend({ input }))),
  },
  {
    name: "call: a policy that suspends with its input",
    given: "json",
    most: INPUT,
    prepare: (json) => () =>
      invoke({
        ...callOf(json, () => null),
        middleware: [{ decide: ({ input }) => ({ suspend: { input: input as Json } }) }],
      }),
  },
  {
    name: "call: a resolution with its input",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const input = parsed(json);
      return () => toKnown("r:0", { input });
    },
  },
  {
    name: "call: output in the catalog profile",
    given: "json",
    most: OUTPUT,
    prepare: (json) => {
      const value = parsed(json);
      return () => recorded("null", () => value);
    },
  },
  {
    name: "call: input in the catalog profile",
    given: "json",
    most: INPUT,
    prepare: (json) => () => recorded(json, () => null),
  },
  {
    name: "call: another input that a hook gave it, in the catalog profile",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const rewrite = parsed(json);
      return () => recorded("null", () => null, [{ decide: () => ({ rewrite }) }]);
    },
  },
  {
    name: "call: a resolution of the host's own with its input",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const input = parsed(json);
      // A name that is escaped as text.
      if (typeof input === "object" && input !== null && !Array.isArray(input))
        Object.assign(input, { "\u0001": 0 });
      return () => assertResolutions({ "r:0": { resolution: { approved: true, input } } });
    },
  },
  {
    name: "exec: calls that wait for a decision",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const inputs = Array.from({ length: EXEC_WAITING }, () => parsed(json));
      return async () => {
        const program = new AgentProgram("c");
        // Most payloads are small. A tool may also ask with its input.
        for (const [at, input] of inputs.entries()) {
          await inTurns(program.ask(`r:${at}`, "t", input, at === 0 ? { input } : "May it?"));
        }
        if (program.pending.length !== EXEC_WAITING) throw new Error("Not all calls wait");
      };
    },
  },
  {
    name: "load_result: all of it",
    given: "json",
    most: EXEC_LIMITS.resultBytes,
    prepare: (json) => () => loaded(json, {}),
  },
  {
    name: "load_result: an item",
    given: "json",
    most: EXEC_LIMITS.resultBytes - 2,
    prepare: (json) => () => loaded(`[${json}]`, { from: 0, count: 1 }),
  },
  {
    name: "codecell/ai: what a model is told",
    given: "json",
    most: RESULT,
    prepare: (json) => {
      const output = parsed(json);
      return () => new ModelOutput(undefined).toModelOutput({ input: {}, output });
    },
  },
  {
    name: "codecell/ai: ask for an approval",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const input = parsed(json);
      return () => asksFor(input);
    },
  },
  {
    name: "codecell/ai: hooks are told of a call",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const input = parsed(json);
      const ids = { runId: "r", callId: "r:0", index: 0, tool: "t" };
      return async () => {
        const trace = watched();
        trace.hear({ type: "call-start", ...ids, input, at: 0, inputText: json });
        await trace.started(new InvocationCall("r:0", "t", input, "c"));
      };
    },
  },
  {
    name: "codecell/ai: hooks are told that a program failed while many calls were open",
    given: "json",
    most: INPUT,
    prepare: async (json) => {
      const error = Object.assign(new Error("Not approved"), { details: { input: parsed(json) } });
      const trace = watched();
      for (let at = 0; at < 32; at++) await trace.started(new InvocationCall(`r:${at}`, "t", null, "c"));
      return () => trace.end("failed", { logs: [], logsDropped: 0 } as never, error);
    },
  },
  {
    name: "codecell/ai: hooks are told of a call that still waits",
    given: "json",
    most: INPUT,
    prepare: (json) => {
      const pending = [{ toolCallId: toolCallIdOf("c", 0), toolName: "t", input: parsed(json) }];
      return () =>
        watched().interrupted(
          { type: "code-mode-interrupt", outerToolCallId: "c", continuation: { pending } } as never,
          { logs: [], logsDropped: 0 } as never,
        );
    },
  },
  ...INTERRUPT_SURFACES,
  ...TRAJECTORY_SURFACES,
  ...STORE_SURFACES,
];
