/** Runs on the host. Starts programs, or continues interrupted programs. */
import { copyJson } from "../../value/print-json.ts";
import type { CallResolution } from "../../contract/result.ts";
import type { Json } from "../../contract/value.ts";
import { toKnown } from "../../run/host/resolutions.ts";
import { assertApprovalNames, parseApproval } from "./approval-status.ts";
import { callIdOf, digestOf, openContinuation, type OpenedContinuation } from "./continuation.ts";
import { CodeModeProtocolError } from "./errors.ts";
import { APPROVAL_KIND, type CodeModeContinuation, type CodeModePendingInterrupt } from "./interrupt.ts";
import { type Continued, Invocation, type InvocationSetup } from "./invocation.ts";
import type { StoredResolution } from "./nested-tools.ts";
import { assertInputNames, type RunCodeModeInput } from "./options.ts";

/** Gives the program's value or an interrupt. Throws an error of code mode if the program fails. */
export async function runCodeMode(input: RunCodeModeInput): Promise<unknown> {
  const setup = toSetup(input);
  const invocation = new Invocation(setup instanceof Promise ? await setup : setup);
  assertApprovalNames(input.options?.approval?.toolApproval, input.tools);
  return invocation.run();
}

/** Gives no promise for a program that starts, so that the start waits for nothing. */
export function toSetup(input: RunCodeModeInput): InvocationSetup | Promise<InvocationSetup> {
  assertInputNames(input);
  const { js, tools, options = {}, toolExecutionOptions: execution = {}, continuation } = input;
  if (typeof js !== "string") throw new TypeError("Cannot run code mode: js must be a string");
  const { interruptResolution } = input;
  if (continuation === undefined) {
    if (interruptResolution !== undefined) {
      throw new CodeModeProtocolError("Cannot resolve an interrupt: give its continuation too");
    }
    return {
      js,
      tools,
      options,
      execution,
      outerToolCallId: execution.toolCallId ?? `code-mode:${++unnamed}`,
    };
  }
  return toSameSetup(continuation, interruptResolution, { js, tools, options, execution });
}

type SetupGiven = Pick<InvocationSetup, "tools" | "options" | "execution">;

/** For an interrupted program whose source is given once more. */
async function toSameSetup(
  continuation: CodeModeContinuation,
  resolved: RunCodeModeInput["interruptResolution"],
  given: SetupGiven & Pick<InvocationSetup, "js">,
): Promise<InvocationSetup> {
  const opened = await openContinuation(continuation);
  if (digestOf(given.js) !== opened.source)
    throw new CodeModeProtocolError("Cannot continue: js is not the source that was interrupted");
  const resolutions = new Map<string, unknown>();
  if (resolved !== undefined) resolutions.set(resolved.interruptId, resolved.resolution);
  return toContinuedSetup(continuation, opened, resolutions, given);
}

/** The setup of an invocation that goes on. Resolutions of its calls are given by interrupt id. */
export async function toContinuedSetup(
  continuation: CodeModeContinuation,
  { outerToolCallId, source }: OpenedContinuation,
  resolutions: ReadonlyMap<string, unknown>,
  given: SetupGiven & Partial<Pick<InvocationSetup, "js">>,
): Promise<InvocationSetup> {
  const continued = { source, ...(await toResolved(continuation, resolutions)) };
  return { js: "", ...given, outerToolCallId, continued };
}

let unnamed = 0;

/** Throws for a resolution of a call that does not wait, and for a resolution that does not fit the call's kind. */
async function toResolved(
  { runId, token, pending }: CodeModeContinuation,
  byInterruptId: ReadonlyMap<string, unknown>,
): Promise<Omit<Continued, "source">> {
  const resolutions: Record<string, CallResolution> = {};
  const given = new Map<string, unknown>();
  const denied = new Set<CodeModePendingInterrupt>();
  const waitingBy = new Map(pending.map((one) => [one.interruptId, one]));
  for (const [interruptId, resolution] of byInterruptId) {
    const waiting = waitingBy.get(interruptId);
    if (waiting === undefined) {
      throw new CodeModeProtocolError(`Cannot resolve "${interruptId}": no call waits under this id`);
    }
    const callId = callIdOf(runId, waiting.toolCallId);
    const stored = await toStored(waiting, resolution);
    resolutions[callId] = await toKnown(callId, stored);
    if (stored.kind === "interrupt") given.set(callId, resolution);
    else if (!stored.approved) denied.add(waiting);
  }
  const others = new Set(pending.filter((one) => !denied.has(one)).map(({ toolName }) => toolName));
  const names = [...denied].map(({ toolName }) => toolName).filter((name) => !others.has(name));
  return { token, resolutions, given, denied: new Set(names) };
}

async function toStored(waiting: CodeModePendingInterrupt, resolution: unknown): Promise<StoredResolution> {
  const { interruptId, payload } = waiting;
  const input = waiting.input as Json;
  if (payload.kind === APPROVAL_KIND) return { kind: "approval", input, ...parseApproval(resolution) };
  const answer = (await copyJson(resolution)) ?? null;
  return { kind: "interrupt", input, interruptId, payload: payload as unknown as Json, resolution: answer };
}
