/**
 * Interrupts as data: what a paused invocation looks like to its host, and how a nested call asks for one.
 *
 * - A tool that asked waits for the answer, whatever it made of what was thrown at it: that it asked is remembered.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ModelMessage } from "ai";
import { isLargeJson } from "../../value/print-json.ts";
import type { Json } from "../../contract/value.ts";
import { isRecord } from "../../value/shape.ts";
import { toJsonText } from "../../value/json-text.ts";

/** Says what somebody has to do before the call goes on; `kind` tells one kind of request from another. */
export interface CodeModeInterruptPayload {
  kind: string;
  [key: string]: unknown;
}

/** One nested call that waits. */
export interface CodeModePendingInterrupt<
  TPayload extends CodeModeInterruptPayload = CodeModeInterruptPayload,
> {
  /** Stands for this one pause of the call; the AI SDK knows an approval by it. */
  interruptId: string;
  toolName: string;
  toolCallId: string;
  input: unknown;
  payload: TPayload;
}

/** Opaque: keep it as it is. Everything in it is covered by its seal. */
export interface CodeModeContinuation {
  version: 2;
  runId: string;
  /** The suspended run, or where the store has it. */
  token: string;
  expiresAtMs: number;
  /** All calls that wait, in the order the program made them. */
  pending: CodeModePendingInterrupt[];
  seal: string;
}

/**
 * A paused invocation, seen from one of the calls that wait. Plain JSON: store it, and give it back to
 * `continueCodeModeInterrupt`.
 */
export interface CodeModeInterrupt<
  TPayload extends CodeModeInterruptPayload = CodeModeInterruptPayload,
> extends CodeModePendingInterrupt<TPayload> {
  type: "code-mode-interrupt";
  outerToolCallId: string;
  continuation: CodeModeContinuation;
}

export const APPROVAL_KIND = "ai-sdk-code-mode/tool-approval";

export interface CodeModeApprovalInterruptPayload extends CodeModeInterruptPayload {
  kind: typeof APPROVAL_KIND;
  /** For whoever approves. */
  reason?: string;
  /** What the program gave, if the tool's schema made another input of it. */
  given?: unknown;
}

export type CodeModeApprovalInterrupt = CodeModeInterrupt<CodeModeApprovalInterruptPayload>;

export interface CodeModeInterruptResolution<TResolution = unknown> {
  interruptId: string;
  resolution: TResolution;
}

/** What a tool that asked is given when its call goes on. */
export interface CodeModeInterruptExecutionContext<
  TPayload extends CodeModeInterruptPayload = CodeModeInterruptPayload,
  TResolution = unknown,
> {
  interruptId: string;
  payload: TPayload;
  resolution: TResolution;
}

/** What nested tools are given beside their input: what the outer call was given, under both generations' names. */
export interface CodeModeToolExecutionOptions {
  toolCallId: string;
  messages: ModelMessage[];
  abortSignal?: AbortSignal;
  experimental_context?: unknown;
  context?: unknown;
  codeModeInterrupt?: CodeModeInterruptExecutionContext;
}

/** What a suspended run keeps of a call that waits. */
export interface KeptRequest {
  readonly payload: CodeModeInterruptPayload & { readonly [key: string]: Json };
  /** As its tool will get it. */
  readonly input: Json;
}

const BRAND = Symbol.for("codecell.code-mode-interrupt-request");

/** Known by its brand, so that a second copy of this package recognises it. */
class InterruptRequest extends Error {
  readonly [BRAND] = true;
  readonly payload: CodeModeInterruptPayload;

  constructor(payload: CodeModeInterruptPayload) {
    super(
      `Asked for "${payload.kind}": do not catch this, rethrow it; only tools that are called by code mode can ask for something`,
    );
    this.name = "CodeModeInterruptRequest";
    this.payload = payload;
  }
}

/** Pauses the invocation whose tool calls this, until the host continues it with a resolution. */
// The contract's type parameter: callers may give it.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function requestCodeModeInterrupt<TPayload extends CodeModeInterruptPayload>(
  payload: TPayload,
): never {
  const { kind } = (payload ?? {}) as { kind?: unknown };
  if (typeof payload !== "object" || Array.isArray(payload) || typeof kind !== "string" || kind === "") {
    throw new TypeError("Cannot interrupt code mode: the payload must be an object with a kind");
  }
  if (kind === APPROVAL_KIND) {
    throw new TypeError(`Cannot interrupt code mode: "${kind}" is reserved, set needsApproval instead`);
  }
  if (!isStorable(payload, kind)) {
    throw new TypeError("Cannot interrupt code mode: the payload is no JSON, give one that can be stored");
  }
  const request = new InterruptRequest(payload);
  const asking = executions.getStore();
  // The tool was to end with the first one.
  if (asking !== undefined) asking.request ??= request;
  throw request;
}

/** Whether it is JSON, or becomes some, with its kind as it is. At once: what is large is not built again to see that. */
function isStorable(payload: CodeModeInterruptPayload, kind: string): boolean {
  if (isLargeJson(payload)) return true;
  const text = toJsonText(payload);
  if (text === undefined) return false;
  if (text.length > LARGE_TEXT && typeof payload["toJSON"] !== "function") return true;
  const kept = JSON.parse(text) as unknown;
  return isRecord(kept) && kept["kind"] === kind;
}

/** Takes milliseconds to build. */
const LARGE_TEXT = 65_536;

/** An execution of a tool, and what it asked for. */
interface Asking {
  request?: InterruptRequest;
}

const EXECUTIONS = Symbol.for("codecell.code-mode-executions");

/** One for all copies of this package in a process. */
const executions = ((globalThis as { [EXECUTIONS]?: AsyncLocalStorage<Asking> })[EXECUTIONS] ??=
  new AsyncLocalStorage<Asking>());

/** What a tool gives; if it asked for something, throws that instead. */
export async function unlessAsked<T>(execute: (hasAsked: () => boolean) => Promise<T>): Promise<T> {
  const asking: Asking = {};
  let output: T;
  try {
    output = await executions.run(asking, execute, () => asking.request !== undefined);
  } catch (error) {
    throw asking.request ?? error;
  }
  if (asking.request !== undefined) throw asking.request;
  return output;
}

/** What was asked for; undefined for any other error. */
export function requestedBy(error: unknown): CodeModeInterruptPayload | undefined {
  return typeof error === "object" && error !== null && BRAND in error
    ? (error as InterruptRequest).payload
    : undefined;
}
