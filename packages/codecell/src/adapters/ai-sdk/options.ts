/**
 * Runs on the host. Checks the options of an invocation when they are given, and turns them into the limits of a run.
 */
import type { ToolSet } from "ai";
import { assertNames, type OptionNames } from "../../contract/assert-names.ts";
import { assertToolSet } from "../../contract/assert-tools.ts";
import type { FailureCode } from "../../contract/failure.ts";
import type { OnError } from "../../contract/host-error.ts";
import type { Limits } from "../../contract/limits.ts";
import { isStandardSchema } from "../../contract/standard-schema.ts";
import type { Store } from "../../contract/store.ts";
import { assertIsHost } from "../../run/host/assert-host.ts";
import { assertOptions } from "../../run/host/assert-options.ts";
import type { Host } from "../../run/host/host.ts";
import { type FetchPolicy, resolveFetchPolicy } from "../../fetch/policy.ts";
import { isRecord } from "../../value/shape.ts";
import { assertToolApproval, type ToolApproval } from "./approval-status.ts";
import type { CodeModeLifecycle } from "./events.ts";
import type { CodeModeContinuation, CodeModeInterruptResolution } from "./interrupt.ts";
import type { CodeModeToolExecutionOptions } from "./interrupt.ts";
import type { CodeModeTelemetryOptions } from "./telemetry.ts";

/** Tools of the AI SDK. A program calls them as `tools.<key>(input)`. */
export type CodeModeToolSet = ToolSet;

export interface CodeModeToolInput {
  /** JavaScript or TypeScript: the body of an async function. */
  js: string;
  /** Continues the program of an earlier call. `withCodeModeApprovals` writes this, never a model. */
  resume?: string;
}

export interface CodeModeExecutionPolicy {
  timeoutMs?: number;
  memoryLimitBytes?: number;
  maxStackSizeBytes?: number;
  maxResultBytes?: number;
  maxSourceBytes?: number;
  maxToolInputBytes?: number;
  maxToolOutputBytes?: number;
  maxBridgeRequests?: number;
  /** How many calls may be in flight. Further calls wait for their turn. */
  maxInFlightBridgeRequests?: number;
  /** How many bytes a program may print. Further output is dropped and counted. */
  maxConsoleOutputBytes?: number;
}

export type CodeModeFetchPolicy = FetchPolicy;

export type ApprovalDecision = "approved" | "denied" | { approved: boolean; reason?: string };

export interface CodeModeApprovalRequest {
  toolName: string;
  /** The input that the tool will get. */
  input: unknown;
  toolCallId: string;
}

export interface CodeModeApprovalOptions {
  mode?: "callback" | "interrupt";
  onApprovalRequired?: (request: CodeModeApprovalRequest) => ApprovalDecision | Promise<ApprovalDecision>;
  /**
   * For nested calls: what `toolApproval` of generateText, streamText and ToolLoopAgent takes. Goes before
   * needsApproval. A name that no tool has is refused.
   */
  toolApproval?: ToolApproval;
  /** The functions of `toolApproval` get this. */
  runtimeContext?: unknown;
  /** The `context` of each tool, by the tool's name: `toolApproval` gets it, and so does the tool when it is called. */
  toolsContext?: Readonly<Record<string, unknown>>;
}

export interface CodeModeModelOutputOptions {
  includeNestedToolSummary?: boolean;
  /** Outputs of 1 MiB in all are shown whole. Of others the beginning is shown. */
  includeNestedToolOutputs?: boolean;
  includeFetchSummary?: boolean;
  /** Default: 32. */
  maxSummaryEntries?: number;
}

/** Where interrupted invocations are stored, and to whom they belong. */
export interface CodeModeContinuationOptions {
  /**
   * With a store, continuations are small references. Any process that shares the store can continue each of them,
   * once.
   */
  store?: Store;
  /** A tenant, user or session. Nothing can be continued under another scope. */
  scope?: string;
  /**
   * Called when a program of `withCodeModeApprovals` cannot go on, with the reason; the model learns only that it
   * cannot. Errors that this function throws are ignored.
   */
  onLost?: (lost: CodeModeLostProgram) => void;
}

/** A program that waited for approvals and cannot go on. */
export interface CodeModeLostProgram {
  /** The name of the code mode tool. */
  toolName: string;
  /** The call that started the program. */
  toolCallId: string;
  /** `token_key`: sealed with a key this process does not have. `token_invalid`: altered. Other codes: as runs fail. */
  code: FailureCode;
  /** What was wrong, and what to do about it. */
  message: string;
}

export interface CodeModeOptions {
  /**
   * Runs the programs, with its store and its check. Limits that `executionPolicy` does not name are the host's.
   * Continue an invocation with the same host. Continuations are sealed separately: processes also need the same
   * signing key.
   */
  host?: Host;
  executionPolicy?: CodeModeExecutionPolicy;
  fetchPolicy?: false | CodeModeFetchPolicy;
  approval?: CodeModeApprovalOptions;
  lifecycle?: CodeModeLifecycle;
  /**
   * Called with errors of the host's own code: tools, schemas, approvals, the sandbox, the store. Only the host sees
   * these errors.
   */
  onError?: OnError;
  telemetry?: CodeModeTelemetryOptions;
  modelOutput?: CodeModeModelOutputOptions;
  continuation?: CodeModeContinuationOptions;
}

export interface RunCodeModeInput {
  js: string;
  tools: CodeModeToolSet;
  toolExecutionOptions?: Partial<CodeModeToolExecutionOptions>;
  options?: CodeModeOptions;
  /** Continues an interrupted invocation of the same source instead of starting a new invocation. */
  continuation?: CodeModeContinuation;
  interruptResolution?: CodeModeInterruptResolution;
}

/**
 * Throws for values that are not tools of the AI SDK: a misread tool would be called without the rules that restrict
 * its use.
 */
export function checkTools(tools: unknown): asserts tools is CodeModeToolSet {
  assertToolSet(tools, "run code mode");
  for (const [name, tool] of Object.entries(tools) as [string, unknown][]) {
    const problem = toolProblem(tool);
    if (problem !== undefined) throw new TypeError(`Cannot run code mode: tool "${name}" ${problem}`);
  }
}

/** Tools that others execute have no `execute`. Tools of providers have more fields than these. */
function toolProblem(tool: unknown): string | undefined {
  if (!isRecord(tool) || Array.isArray(tool))
    return "is not a tool: leave it out or give a tool of the AI SDK";
  const { inputSchema, execute } = tool;
  if (execute !== undefined && execute !== null && typeof execute !== "function") {
    return "has an execute that is not a function";
  }
  const other = ["input", "parameters"].find((key) => tool[key] !== undefined);
  if (other !== undefined && (inputSchema === undefined || inputSchema === null)) {
    return `has "${other}" and no inputSchema: give tools of the AI SDK here, others to run of codecell`;
  }
  if (inputSchema === undefined || inputSchema === null || typeof inputSchema === "function")
    return undefined;
  return isStandardSchema(inputSchema) || (isRecord(inputSchema) && "jsonSchema" in inputSchema)
    ? undefined
    : "has an invalid inputSchema: give z.object({ … }) or jsonSchema({ … })";
}

const MiB = 1024 * 1024;

/** Each policy with the limit it sets, and its default. */
const POLICY: readonly (readonly [keyof CodeModeExecutionPolicy, keyof Limits, number])[] = [
  ["timeoutMs", "wallTimeMs", 30_000],
  ["memoryLimitBytes", "memoryBytes", 64 * MiB],
  ["maxStackSizeBytes", "stackBytes", 2 * MiB],
  ["maxResultBytes", "resultBytes", MiB],
  ["maxSourceBytes", "sourceBytes", 256 * 1024],
  ["maxToolInputBytes", "callInputBytes", MiB],
  ["maxToolOutputBytes", "callOutputBytes", 4 * MiB],
  ["maxBridgeRequests", "calls", 256],
  ["maxInFlightBridgeRequests", "callsInFlight", 32],
  ["maxConsoleOutputBytes", "logBytes", 64 * 1024],
];

const OF_CODE_MODE: OptionNames<CodeModeOptions> = {
  host: true,
  executionPolicy: true,
  fetchPolicy: true,
  approval: true,
  lifecycle: true,
  onError: true,
  telemetry: true,
  modelOutput: true,
  continuation: true,
};

/** Names of the AI SDK's own telemetry, 6 or 7, that mean nothing here: both may be given the same object. */
type OthersOfTelemetry = Record<"integrations" | "includeRuntimeContext" | "includeToolsContext", unknown>;

interface Within {
  approval: CodeModeApprovalOptions;
  executionPolicy: CodeModeExecutionPolicy;
  lifecycle: CodeModeLifecycle;
  telemetry: CodeModeTelemetryOptions & OthersOfTelemetry;
  modelOutput: CodeModeModelOutputOptions;
  continuation: CodeModeContinuationOptions;
}

/** The names of options within options. Those of a fetch policy are checked where the policy is read. */
const WITHIN: { readonly [Name in keyof Within]: OptionNames<Within[Name]> } = {
  approval: {
    mode: true,
    onApprovalRequired: true,
    toolApproval: true,
    runtimeContext: true,
    toolsContext: true,
  },
  executionPolicy: Object.fromEntries(
    POLICY.map(([name]) => [name, true]),
  ) as OptionNames<CodeModeExecutionPolicy>,
  lifecycle: {
    onNestedToolCall: true,
    onNestedToolResult: true,
    onFetchRequest: true,
    onFetchResult: true,
    onConsole: true,
    onInterrupt: true,
    onTrace: true,
    onHookError: true,
  },
  telemetry: {
    isEnabled: true,
    tracer: true,
    recordInputs: true,
    recordOutputs: true,
    functionId: true,
    metadata: true,
    integrations: true,
    includeRuntimeContext: true,
    includeToolsContext: true,
  },
  modelOutput: {
    includeNestedToolSummary: true,
    includeNestedToolOutputs: true,
    includeFetchSummary: true,
    maxSummaryEntries: true,
  },
  continuation: { store: true, scope: true, onLost: true },
};

const NAMES_WITHIN = Object.keys(WITHIN) as (keyof Within)[];

const OF_INPUT: OptionNames<RunCodeModeInput> = {
  js: true,
  tools: true,
  toolExecutionOptions: true,
  options: true,
  continuation: true,
  interruptResolution: true,
};

/** Throws for options that stand beside `options`, where nobody reads them. */
export function assertInputNames(input: RunCodeModeInput): void {
  assertNames(input, OF_INPUT, "run code mode");
}

/** Throws for names and kinds of values that nobody reads: a misspelt approval would be ignored. */
export function assertOptionNames(options: CodeModeOptions): void {
  assertOptions(options, "run code mode");
  assertNames(options, OF_CODE_MODE, "run code mode");
  for (const name of NAMES_WITHIN) {
    const inner: unknown = options[name];
    if (inner === undefined) continue;
    if (!isRecord(inner) || Array.isArray(inner))
      throw new TypeError(`Cannot run code mode: ${name} must be an object of options`);
    assertNames(inner, WITHIN[name], "run code mode", name);
  }
  const { mode, onApprovalRequired } = options.approval ?? {};
  if (mode !== undefined && mode !== "callback" && mode !== "interrupt") {
    throw new TypeError('Cannot run code mode: approval.mode must be "callback" or "interrupt"');
  }
  if (onApprovalRequired !== undefined && typeof onApprovalRequired !== "function") {
    throw new TypeError("Cannot run code mode: approval.onApprovalRequired must be a function");
  }
}

/** Throws for options that no invocation could start with: the creator of the tool should hear of them, not a model. */
export function assertCodeModeOptions(options: CodeModeOptions): void {
  assertOptionNames(options);
  const { executionPolicy, fetchPolicy, approval } = options;
  assertToolApproval(approval?.toolApproval);
  assertHostChoice(options);
  toLimits(executionPolicy);
  if (fetchPolicy !== undefined && fetchPolicy !== false) resolveFetchPolicy(fetchPolicy);
}

/** Throws for a store beside a host: the store would be ignored, and suspended runs would be lost with the process. */
export function assertHostChoice({ host, continuation }: CodeModeOptions): void {
  if (host === undefined) return;
  assertIsHost(host, "run code mode");
  if (continuation?.store !== undefined) {
    throw new TypeError(
      "Cannot run code mode with a host and continuation.store: give the store to the host",
    );
  }
}

/**
 * With a given host, limits that the policy does not name are the host's. Limits that only follow from the policy never
 * widen the host's limits.
 */
export function limitsFor({ executionPolicy: policy, host }: CodeModeOptions): Partial<Limits> {
  if (policy === undefined) return host === undefined ? DEFAULT_LIMITS : {};
  const limits = toLimits(policy);
  if (host === undefined) return limits;
  const named = POLICY.filter(([name]) => policy[name] !== undefined).map(([, limit]) => limit);
  const following: (keyof Limits)[] = [];
  if (policy.timeoutMs !== undefined) following.push("cpuTimeMs");
  if (policy.maxBridgeRequests !== undefined) following.push("callsQueued");
  return Object.fromEntries([
    ...named.map((limit) => [limit, limits[limit]]),
    ...following.map((limit) => [limit, Math.min(limits[limit] ?? 0, host.limits[limit] ?? Infinity)]),
  ]) as Partial<Limits>;
}

function toLimits(policy: CodeModeExecutionPolicy = {}): Partial<Limits> {
  const limits: { -readonly [Name in keyof Limits]?: number } = {};
  for (const [name, limit, fallback] of POLICY) {
    const value = policy[name] === undefined ? fallback : policy[name];
    if (!Number.isInteger(value) || value <= 0) {
      throw new TypeError(
        `Cannot use executionPolicy.${name} ${String(value)}: it must be a positive integer`,
      );
    }
    limits[limit] = value;
  }
  // A program may compute for as long as it may run: one limit is enough.
  limits.cpuTimeMs = limits.wallTimeMs ?? 0;
  // Calls above the limit in flight wait. Only the number of all calls is bounded.
  limits.callsQueued = limits.calls ?? 0;
  return limits;
}

/** Frozen, so that a host resolves them once. */
const DEFAULT_LIMITS: Partial<Limits> = Object.freeze(toLimits());
