/**
 * Runs on the host. Interrupts as data: what the host sees of a paused invocation, and how a nested call asks for an
 * interrupt.
 *
 * - A tool that asked for an interrupt waits for the answer, even if it caught what `requestCodeModeInterrupt` threw:
 *   the request is remembered.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ModelMessage } from "ai";
import { isLargeJson } from "../../value/print-json.ts";
import type { Json } from "../../contract/value.ts";
import { isRecord } from "../../value/shape.ts";
import { toJsonText } from "../../value/json-text.ts";

/** Says what somebody has to do before the call goes on. `kind` distinguishes kinds of requests. */
export interface CodeModeInterruptPayload {
  kind: string;
  [key: string]: unknown;
}

/** One waiting nested call. */
export interface CodeModePendingInterrupt<
  TPayload extends CodeModeInterruptPayload = CodeModeInterruptPayload,
> {
  /** Identifies this one pause of the call. The AI SDK uses it as the id of an approval. */
  interruptId: string;
  toolName: string;
  toolCallId: string;
  input: unknown;
  payload: TPayload;
}

/** Opaque: keep it unchanged. The seal covers everything in it. */
export interface CodeModeContinuation {
  version: 2;
  runId: string;
  /** The suspended run, or a reference to it in the store. */
  token: string;
  expiresAtMs: number;
  /** All waiting calls, in the order in which the program made them. */
  pending: CodeModePendingInterrupt[];
  seal: string;
}

/**
 * A paused invocation, seen from one of its waiting calls. Plain JSON: store it, and give it back to
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
  /** For the person who approves. */
  reason?: string;
  /** The input that the program gave, if the tool's schema changed the input. */
  given?: unknown;
}

export type CodeModeApprovalInterrupt = CodeModeInterrupt<CodeModeApprovalInterruptPayload>;

export interface CodeModeInterruptResolution<TResolution = unknown> {
  interruptId: string;
  resolution: TResolution;
}

/** What a tool that asked for an interrupt gets when its call goes on. */
export interface CodeModeInterruptExecutionContext<
  TPayload extends CodeModeInterruptPayload = CodeModeInterruptPayload,
  TResolution = unknown,
> {
  interruptId: string;
  payload: TPayload;
  resolution: TResolution;
}

/**
 * What nested tools get beside their input: what the outer call was given, under the names of both generations of the
 * AI SDK.
 */
export interface CodeModeToolExecutionOptions {
  toolCallId: string;
  messages: ModelMessage[];
  abortSignal?: AbortSignal;
  experimental_context?: unknown;
  context?: unknown;
  codeModeInterrupt?: CodeModeInterruptExecutionContext;
}

/** What a suspended run keeps of a waiting call. */
export interface KeptRequest {
  readonly payload: CodeModeInterruptPayload & { readonly [key: string]: Json };
  /** The input that the tool will get. */
  readonly input: Json;
}

const BRAND = Symbol.for("codecell.code-mode-interrupt-request");

/** Recognised by its brand, so that a second copy of this package recognises it too. */
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

/** Pauses the invocation whose tool calls this function, until the host continues the invocation with a resolution. */
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
    throw new TypeError("Cannot interrupt code mode: the payload is not JSON, give one that can be stored");
  }
  const request = new InterruptRequest(payload);
  const asking = executions.getStore();
  // The first request counts: the tool was supposed to end with it.
  if (asking !== undefined) asking.request ??= request;
  throw request;
}

/**
 * Whether the payload is JSON, or becomes JSON, with its kind unchanged. Works at once: a large payload is not built
 * again for this.
 */
function isStorable(payload: CodeModeInterruptPayload, kind: string): boolean {
  if (isLargeJson(payload)) return true;
  const text = toJsonText(payload);
  if (text === undefined) return false;
  if (text.length > LARGE_TEXT && typeof payload["toJSON"] !== "function") return true;
  const kept = JSON.parse(text) as unknown;
  return isRecord(kept) && kept["kind"] === kind;
}

/** Text of this length takes milliseconds to build. */
const LARGE_TEXT = 65_536;

/** One execution of a tool, and the interrupt it asked for. */
interface Asking {
  request?: InterruptRequest;
}

const EXECUTIONS = Symbol.for("codecell.code-mode-executions");

/** All copies of this package in a process share this storage. */
const executions = ((globalThis as { [EXECUTIONS]?: AsyncLocalStorage<Asking> })[EXECUTIONS] ??=
  new AsyncLocalStorage<Asking>());

/** Gives the tool's output. If the tool asked for an interrupt, throws the request instead. */
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

/** The payload of a request for an interrupt; undefined for any other error. */
export function requestedBy(error: unknown): CodeModeInterruptPayload | undefined {
  return typeof error === "object" && error !== null && BRAND in error
    ? (error as InterruptRequest).payload
    : undefined;
}
