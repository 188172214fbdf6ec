/** Options of an invocation, checked at the door and turned into the limits of a run. */
import type { ToolSet } from "ai";
import { assertToolSet } from "../../contract/assert-tools.ts";
import type { FailureCode } from "../../contract/failure.ts";
import type { OnError } from "../../contract/host-error.ts";
import type { Limits } from "../../contract/limits.ts";
import type { Store } from "../../contract/store.ts";
import { assertIsHost } from "../../run/host/assert-host.ts";
import type { Host } from "../../run/host/host.ts";
import { type FetchPolicy, resolveFetchPolicy } from "../../fetch/policy.ts";
import { isRecord } from "../../value/shape.ts";
import { assertToolApproval, type ToolApproval } from "./approval-status.ts";
import type { CodeModeLifecycle } from "./events.ts";
import type { CodeModeContinuation, CodeModeInterruptResolution } from "./interrupt.ts";
import type { CodeModeToolExecutionOptions } from "./interrupt.ts";
import type { CodeModeTelemetryOptions } from "./telemetry.ts";

/** Tools of the AI SDK: `tools.<key>(input)` in a program. */
export type CodeModeToolSet = ToolSet;

export interface CodeModeToolInput {
  /** JavaScript or TypeScript; the body of an async function. */
  js: string;
  /** Goes on with the program of an earlier call; written by `withCodeModeApprovals`, never by a model. */
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
  /** More calls than these wait for their turn. */
  maxInFlightBridgeRequests?: number;
  /** Of what a program prints; the rest is dropped and counted. */
  maxConsoleOutputBytes?: number;
}

export type CodeModeFetchPolicy = FetchPolicy;

export type ApprovalDecision = "approved" | "denied" | { approved: boolean; reason?: string };

export interface CodeModeApprovalRequest {
  toolName: string;
  /** As the tool will get it. */
  input: unknown;
  toolCallId: string;
}

export interface CodeModeApprovalOptions {
  mode?: "callback" | "interrupt";
  onApprovalRequired?: (request: CodeModeApprovalRequest) => ApprovalDecision | Promise<ApprovalDecision>;
  /** What `toolApproval` of generateText, streamText and ToolLoopAgent takes, for nested calls; goes before needsApproval. */
  toolApproval?: ToolApproval;
  /** Given to the functions of `toolApproval`. */
  runtimeContext?: unknown;
  /** By the names of tools; what a tool has here is its `context`, in `toolApproval` and when it is called. */
  toolsContext?: Readonly<Record<string, unknown>>;
}

export interface CodeModeModelOutputOptions {
  includeNestedToolSummary?: boolean;
  includeNestedToolOutputs?: boolean;
  includeFetchSummary?: boolean;
  maxSummaryEntries?: number;
}

/** Where interrupted invocations are kept, and whose they are. */
export interface CodeModeContinuationOptions {
  /** Continuations become small references; each can be taken up once, by any process that shares the store. */
  store?: Store;
  /** A tenant, user or session: under another one nothing can be continued. */
  scope?: string;
  /**
   * Told of a program of `withCodeModeApprovals` that cannot go on, and why: its model learns no more than that. What it
   * throws is nobody's.
   */
  onLost?: (lost: CodeModeLostProgram) => void;
}

/** A program that waited for approvals, and cannot go on. */
export interface CodeModeLostProgram {
  /** Of the code mode tool. */
  toolName: string;
  /** Of the call that started the program. */
  toolCallId: string;
  /** `token_key`: sealed with a key this process does not have; `token_invalid`: altered; others as runs fail. */
  code: FailureCode;
  /** What was wrong, and what to do. */
  message: string;
}

export interface CodeModeOptions {
  /**
   * Runs the programs, with its store, its check and, where `executionPolicy` names none, its limits. Give the same one to
   * whoever continues. Continuations are sealed apart: processes need the same signing key too.
   */
  host?: Host;
  executionPolicy?: CodeModeExecutionPolicy;
  fetchPolicy?: false | CodeModeFetchPolicy;
  approval?: CodeModeApprovalOptions;
  lifecycle?: CodeModeLifecycle;
  /** Told of errors in the host's own code, for the host alone: of tools, schemas, approvals, the sandbox, the store. */
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
  /** Goes on with an interrupted invocation of the same source instead of starting one. */
  continuation?: CodeModeContinuation;
  interruptResolution?: CodeModeInterruptResolution;
}

/** Throws for what are no tools of the AI SDK: one that is misread would be called without what bounds its use. */
export function checkTools(tools: unknown): asserts tools is CodeModeToolSet {
  assertToolSet(tools, "run code mode");
  for (const [name, tool] of Object.entries(tools) as [string, unknown][]) {
    const problem = toolProblem(tool);
    if (problem !== undefined) throw new TypeError(`Cannot run code mode: tool "${name}" ${problem}`);
  }
}

/** Tools that others execute have no `execute`; those of providers have more than these. */
function toolProblem(tool: unknown): string | undefined {
  if (!isRecord(tool) || Array.isArray(tool)) return "is none, leave it out or give a tool of the AI SDK";
  const { inputSchema, execute } = tool;
  if (execute !== undefined && execute !== null && typeof execute !== "function") {
    return "has an execute that is no function";
  }
  const other = ["input", "parameters"].find((key) => tool[key] !== undefined);
  if (other !== undefined && (inputSchema === undefined || inputSchema === null)) {
    return `has "${other}" and no inputSchema: give tools of the AI SDK here, others to run of codecell`;
  }
  if (inputSchema === undefined || inputSchema === null || typeof inputSchema === "function")
    return undefined;
  return isRecord(inputSchema) && ("~standard" in inputSchema || "jsonSchema" in inputSchema)
    ? undefined
    : "has an inputSchema that is none: give z.object({ … }) or its like, or jsonSchema({ … }) of the AI SDK";
}

const MiB = 1024 * 1024;

/** Each with the limit it is for. */
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

/** Throws for what no invocation could begin with: whoever creates a tool should hear of it, and not a model. */
export function assertOptions(options: CodeModeOptions): void {
  const { executionPolicy, fetchPolicy, approval } = options;
  assertToolApproval(approval?.toolApproval);
  assertHostChoice(options);
  toLimits(executionPolicy);
  if (fetchPolicy !== undefined && fetchPolicy !== false) resolveFetchPolicy(fetchPolicy);
}

/** A store beside a host would be ignored, and what is suspended would be lost with the process. */
export function assertHostChoice({ host, continuation }: CodeModeOptions): void {
  if (host === undefined) return;
  assertIsHost(host, "run code mode");
  if (continuation?.store !== undefined) {
    throw new TypeError(
      "Cannot run code mode with a host and continuation.store: give the store to the host",
    );
  }
}

/** With the limits of a given host, what the policy does not name is the host's. What only follows from it widens none of them. */
export function limitsFor({ executionPolicy: policy = {}, host }: CodeModeOptions): Partial<Limits> {
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
  // One clock is enough: a program may compute for as long as it may take.
  limits.cpuTimeMs = limits.wallTimeMs ?? 0;
  // What may not be in flight yet waits; only the number of all calls is bounded.
  limits.callsQueued = limits.calls ?? 0;
  return limits;
}
