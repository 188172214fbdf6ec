/**
 * Runs on the host. Prepares an agent run: from its configuration, tools and policy to what its model sees.
 *
 * - The order is: policy, configuration, catalog, then `exec` and `wait` in place of all tools.
 * - If code mode is off, nothing changes. If it is on, the model sees `exec`, `wait` and the tools marked
 *   direct-only, and never more, whatever fails. A run without tools gets nothing.
 */
import { createHash, randomBytes } from "node:crypto";
import type { Catalog } from "../catalog/catalog.ts";
import type { CatalogPolicy } from "../catalog/policy.ts";
import { assertNames, type OptionNames } from "../contract/assert-names.ts";
import type { OnError } from "../contract/host-error.ts";
import type { Resolutions } from "../contract/result.ts";
import type { CallContext } from "../contract/tool.ts";
import type { ShapeMemory } from "../contract/shape-memory.ts";
import type { JudgeApart } from "../protocol/judges.ts";
import { assertOptions } from "../run/host/assert-options.ts";
import { assertIsHost } from "../run/host/assert-host.ts";
import { defaultHost, judgeOutsideRuns } from "../run/host/default-host.ts";
import { type ConnectorHandles, isHandles } from "../run/host/connector-handles.ts";
import type { Host } from "../run/host/host.ts";
import { AgentRun } from "./agent-run.ts";
import { type AgentTool, type AgentTools, markControl, sortTools } from "./agent-tools.ts";
import type { ExchangeOptions } from "./agent-program.ts";
import { AgentPrograms } from "./agent-programs.ts";
import type { CodeModeResult, CodeModeTelemetry } from "./shown/code-mode-result.ts";
import { assertConfigNames, type CodeModeSettings, givenNumbers, resolveCodeMode } from "./config.ts";
import { describeSurface, type ModelTool } from "./shown/describe-surface.ts";
import type { AgentContext, AgentScope, Approve, BeforeToolCall } from "./calls/nested-call.ts";
import { NestedTools } from "./calls/nested-tools.ts";
import { SavedValues } from "./output/saved-values.ts";
import { checkPayload, type PayloadTool } from "./payload.ts";
import { Telemetry } from "./record/telemetry.ts";
import { Trajectory, type TrajectoryExport, type TrajectoryOptions } from "./record/trajectory.ts";

export interface AgentRuntimeOptions {
  /**
   * Runs the programs; default is the host that the process shares. With a store, suspended programs outlive the
   * process.
   */
  readonly host?: Host;
  /** Most programs that may be suspended at the same time, over all agent runs; default 1,000. */
  readonly suspendedPrograms?: number;
}

export interface AgentRunOptions<Context extends AgentScope = AgentContext> {
  /** `true`, `false` or an object, as an operator wrote it; default off. A name that nobody knows throws. */
  readonly config?: unknown;
  readonly tools: AgentTools;
  /** Gives programs handles of backends, as `createHandles` of @codecell/connectors makes them. The policy holds for them too. */
  readonly connectors?: ConnectorHandles;
  readonly policy?: CatalogPolicy;
  readonly context: Context;
  /** If true, the model gets no tools at all. */
  readonly disableTools?: boolean;
  /** Called before every nested call. It may block the call or rewrite its input. */
  readonly beforeToolCall?: BeforeToolCall;
  /** Called before every nested call, with the final input. Time spent here does not count as the program's time. */
  readonly approve?: Approve;
  /** Called with errors in the host's own code, for the host only; default is the `onError` of the runtime's host. */
  readonly onError?: OnError;
  /** Keeps what is learnt about the outputs of tools, beyond the life of the process. */
  readonly memory?: ShapeMemory;
  readonly trajectory?: TrajectoryOptions;
  /** Called with what the model sees. Without it, CODECELL_DEBUG_CODE_MODE=1 prints that to stderr. */
  readonly onDebug?: (line: string) => void;
}

/** A tool as the model sees it. */
export interface VisibleTool {
  readonly name: string;
  readonly tool: AgentTool;
}

export interface PreparedAgentRun extends AsyncDisposable {
  /** Whether the model sees `exec` and `wait` in place of its tools. */
  readonly isActive: boolean;
  readonly visibleTools: readonly VisibleTool[];
  /** The tools that programs can reach; undefined when code mode is off. */
  readonly catalog: Catalog | undefined;
  /**
   * Give it the tools of a request before it is sent. It leaves out what the model may not see, and throws when a
   * tool that the model should see is missing.
   */
  assertPayload<T extends PayloadTool>(tools: readonly T[]): readonly T[];
  exec(input: unknown, options?: ExchangeOptions): Promise<CodeModeResult>;
  wait(input: unknown, options?: ExchangeOptions): Promise<CodeModeResult>;
  /** Decides about nested calls that asked for a decision; takes effect with the next `wait`. */
  resolve(resolutions: Resolutions): void;
  telemetry(): CodeModeTelemetry;
  /** The run's records as they are now, made in turns: programs choose how large they are. */
  trajectory(): Promise<TrajectoryExport>;
  /** Ends the run and drops its programs. */
  end(): Promise<void>;
}

export interface AgentRuntime extends AsyncDisposable {
  prepareAgentRun<Context extends AgentScope>(options: AgentRunOptions<Context>): PreparedAgentRun;
  /** How many programs are suspended now. */
  readonly suspendedPrograms: number;
}

const SUSPENDED_PROGRAMS = 1000;
/** Bounds of all values of an agent run that are too large to show. */
const SAVED_VALUES_LIMITS = { maxBytes: 32 * 1024 * 1024, maxValues: 100 };

export function createAgentRuntime(options: AgentRuntimeOptions = {}): AgentRuntime {
  assertOptions(options, "create an agent runtime");
  assertNames(options, OF_RUNTIME, "create an agent runtime");
  const { suspendedPrograms = SUSPENDED_PROGRAMS } = options;
  if (options.host !== undefined) assertIsHost(options.host, "create an agent runtime");
  if (!Number.isInteger(suspendedPrograms) || suspendedPrograms < 1) {
    throw new RangeError(
      `Cannot keep ${String(suspendedPrograms)} suspended programs: expected a positive integer`,
    );
  }
  const agentPrograms = new AgentPrograms(suspendedPrograms);
  /** Only runs that have something to end; others are not kept in memory. */
  const runs = new Set<AgentRun>();
  return {
    prepareAgentRun: (given) => {
      const { host } = options;
      // The first run that needs the host creates it: without code mode there is no worker.
      const run = prepare(given, agentPrograms, () => host ?? defaultHost(), runs);
      if (host !== undefined) for (const one of run.visibleTools) hosts.set(one, host);
      return run;
    },
    get suspendedPrograms() {
      return agentPrograms.size;
    },
    [Symbol.asyncDispose]: async () => {
      // Suspended programs in a store are left to other processes.
      const isKept = options.host?.isDurable === true;
      await Promise.all([...runs].map((run) => run.end({ isKept })));
    },
  };
}

/** The hosts that runtimes were given, by the tools that their models see. */
const hosts = new WeakMap<VisibleTool, Host>();

/** Judges inputs of a tool that the model calls directly, where the programs of the same agent run live. */
export function judgeOf(visible: VisibleTool): JudgeApart {
  return judgeOutsideRuns(hosts.get(visible));
}

let shared: AgentRuntime | undefined;

/** Prepares a run on a runtime shared by the whole process. */
export function prepareAgentRun<Context extends AgentScope>(
  options: AgentRunOptions<Context>,
): PreparedAgentRun {
  shared ??= createAgentRuntime();
  return shared.prepareAgentRun(options);
}

function prepare(
  options: AgentRunOptions<AgentScope>,
  agentPrograms: AgentPrograms,
  host: () => Host,
  runs: Set<AgentRun>,
): PreparedAgentRun {
  assertAgentRun(options);
  const { tools, policy = {}, context, disableTools = false } = options;
  const resolved = resolveCodeMode(options.config);
  if (disableTools) return unchanged([]);
  const sorted = sortTools(tools, policy);
  if (resolved.status === "off") return unchanged(sorted.all);
  const catalog = sorted.toCatalog(options.memory);
  const { direct } = sorted;
  const connectors = options.connectors?.withPolicy(policy);
  if (catalog.entries.length === 0 && direct.length === 0 && connectors === undefined) return unchanged([]);
  const settings = resolved.status === "on" ? resolved.settings : FALLBACK;
  const visible = ["exec", "wait", ...direct.map(({ name }) => name)];
  if (new Set(visible).size < visible.length) {
    throw new TypeError(
      `Cannot show the model two tools of one name: it would see ${visible.join(", ")}, rename a direct-only tool`,
    );
  }
  const telemetry = new Telemetry(visible, sizesOf(catalog));
  const trajectory = new Trajectory(options.trajectory);
  // An agent run may be prepared again, perhaps in another process. A ref of one preparation must not lead to a value
  // of another.
  const saved = new SavedValues(SAVED_VALUES_LIMITS, `r${randomBytes(3).toString("hex")}`);
  const nested = new NestedTools({
    catalog,
    settings,
    // Hooks and tools may look at whatever else is in the context.
    context: context as AgentContext,
    beforeToolCall: options.beforeToolCall,
    approve: options.approve,
    telemetry,
    trajectory,
    saved,
    connectors,
  });
  const run = new AgentRun({
    host,
    agentPrograms,
    scope: scopeOf(context),
    settings,
    given: resolved.status === "on" ? givenNumbers(options.config) : new Set(),
    problem: resolved.status === "invalid" ? resolved.problem : undefined,
    signal: context.abortSignal,
    onError: options.onError,
    nested,
    telemetry,
    trajectory,
    saved,
    onBusy: (one, isBusy) => void (isBusy ? runs.add(one) : runs.delete(one)),
  });
  const end = async (): Promise<void> => {
    await run.end();
    runs.delete(run);
  };
  const surface = describeSurface(catalog, settings, { yields: true, connectors });
  const own = { exec: surface.exec.description, wait: surface.wait.description };
  const visibleTools: readonly VisibleTool[] = [
    { name: "exec", tool: toTool(surface.exec, (input, exchange) => run.exec(input, exchange)) },
    { name: "wait", tool: toTool(surface.wait, (input, exchange) => run.wait(input, exchange)) },
    ...direct,
  ];
  const debug = debugOf(options.onDebug);
  debug?.(
    `code mode: the model sees ${visible.join(", ")}; ${catalog.entries.length} tools are in the catalog`,
  );
  return {
    isActive: true,
    visibleTools,
    catalog,
    assertPayload: (payload) => checkPayload(payload, visible, own, debug),
    exec: (input, exchange) => run.exec(input, exchange),
    wait: (input, exchange) => run.wait(input, exchange),
    resolve: (resolutions) => run.resolve(resolutions),
    telemetry: () => telemetry.read(),
    trajectory: () => trajectory.export(),
    end,
    [Symbol.asyncDispose]: end,
  };
}

/** Throws on misuse by the host's programmer. */
function assertAgentRun(options: AgentRunOptions<AgentScope>): void {
  assertOptions(options, ACTION);
  assertNames(options, OF_AGENT_RUN, ACTION);
  const { config, context, trajectory } = options;
  assertConfigNames(config, ACTION);
  if (trajectory !== undefined) {
    assertOptions(trajectory, `${ACTION} with this trajectory`);
    assertNames(trajectory, OF_TRAJECTORY, ACTION, "trajectory");
  }
  assertOptions(context, `${ACTION} without its context`);
  if (options.connectors !== undefined && !isHandles(options.connectors))
    throw new TypeError(
      `Cannot ${ACTION}: connectors must be handles, as createHandles of @codecell/connectors makes them`,
    );
  if (context.abortSignal !== undefined && !(context.abortSignal instanceof AbortSignal)) {
    throw new TypeError(`Cannot ${ACTION}: context.abortSignal must be an AbortSignal`);
  }
  for (const name of ["beforeToolCall", "approve", "onDebug", "onError"] as const) {
    if (options[name] !== undefined && typeof options[name] !== "function") {
      throw new TypeError(`Cannot ${ACTION}: ${name} must be a function`);
    }
  }
}

const ACTION = "prepare an agent run";

const OF_RUNTIME: OptionNames<AgentRuntimeOptions> = { host: true, suspendedPrograms: true };

const OF_TRAJECTORY: OptionNames<TrajectoryOptions> = {
  maxBytes: true,
  maxValueBytes: true,
  maxRecords: true,
  redact: true,
  now: true,
};

const OF_AGENT_RUN: OptionNames<AgentRunOptions> = {
  config: true,
  tools: true,
  connectors: true,
  policy: true,
  context: true,
  disableTools: true,
  beforeToolCall: true,
  approve: true,
  onError: true,
  memory: true,
  trajectory: true,
  onDebug: true,
};

function toTool(
  { description, inputSchema }: ModelTool,
  exchange: (input: unknown, options: ExchangeOptions) => Promise<CodeModeResult>,
): AgentTool {
  return markControl({
    description,
    input: { ...inputSchema },
    // An agent's own loop may call this without a call context.
    execute: (input: unknown, { callId, signal }: Partial<CallContext> = {}) =>
      exchange(input, { toolCallId: callId, abortSignal: signal }),
  });
}

/** Settings that describe a run whose configuration is wrong. None of its programs runs. */
const FALLBACK: CodeModeSettings = onlySettings(resolveCodeMode(true));

function onlySettings(resolved: ReturnType<typeof resolveCodeMode>): CodeModeSettings {
  if (resolved.status !== "on") throw new Error("The defaults of code mode do not resolve");
  return resolved.settings;
}

/** A run whose code mode is off, or that has nothing to hide. */
function unchanged(visibleTools: readonly VisibleTool[]): PreparedAgentRun {
  const names = visibleTools.map(({ name }) => name);
  const telemetry = new Telemetry(names, { size: 0, sources: {} });
  const refuse = async (): Promise<CodeModeResult> => ({
    status: "failed",
    error: "Code mode is off for this run: call the tools directly",
    code: "invalid_input",
    telemetry: telemetry.read(),
  });
  return {
    isActive: false,
    visibleTools,
    catalog: undefined,
    assertPayload: (payload) => payload,
    exec: refuse,
    wait: refuse,
    resolve: () => {
      throw new RangeError("Cannot resolve calls: code mode is off for this run");
    },
    telemetry: () => telemetry.read(),
    trajectory: () => new Trajectory().export(),
    end: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}

function sizesOf({ entries }: Catalog): CodeModeTelemetry["catalog"] {
  const sources: Record<string, number> = {};
  for (const { kind } of entries) sources[kind] = (sources[kind] ?? 0) + 1;
  return { size: entries.length, sources };
}

/** Undefined when a part is missing: a run without a complete scope shares nothing with anybody. */
function scopeOf({ agentId, runId, sessionId, sessionKey }: AgentScope): string | undefined {
  const parts: readonly unknown[] = [agentId, runId, sessionId, sessionKey];
  if (!parts.every((part) => typeof part === "string" && part !== "")) return undefined;
  // A hash, since a session key may be a secret and a store shows its scopes.
  return `agent:${createHash("sha256").update(JSON.stringify(parts)).digest("base64url")}`;
}

function debugOf(onDebug: AgentRunOptions["onDebug"]): ((line: string) => void) | undefined {
  if (onDebug !== undefined) return onDebug;
  return process.env["CODECELL_DEBUG_CODE_MODE"] === "1"
    ? (line) => void process.stderr.write(`${line}\n`)
    : undefined;
}
