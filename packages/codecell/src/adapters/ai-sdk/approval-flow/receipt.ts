/**
 * Receipt: the proof that the AI SDK let an approved call be executed, for the program that waits to make it.
 *
 * - Sealed, for one pause of one call with one input: it is worth nothing for any other.
 * - Made only where the AI SDK executes a stand-in, which is after it has found and checked an approval.
 */
import { inTurns } from "../../../loop/turn.ts";
import { isRecord } from "../../../value/shape.ts";
import { contentDigest, digestOf, isSameJson } from "../continuation.ts";
import { CodeModeProtocolError } from "../errors.ts";
import { continuationSealer } from "../hosts.ts";
import type { CodeModeInterrupt, CodeModePendingInterrupt } from "../interrupt.ts";
import { toShown } from "../nested-call.ts";

const PURPOSE = "code mode approval receipt";

/** What the AI SDK has as the result of an approved call; the call itself is the program's to make. */
export interface CodeModeApprovalReceipt {
  type: "code-mode-approved";
  toolName: string;
  receipt: string;
}

export interface WaitingCall {
  readonly interrupt: CodeModeInterrupt;
  readonly call: CodeModePendingInterrupt;
}

export function isReceipt(value: unknown): value is CodeModeApprovalReceipt {
  return isRecord(value) && value["type"] === "code-mode-approved" && typeof value["receipt"] === "string";
}

/** Throws unless the input is the one that waits. */
export async function issueReceipt(
  waiting: WaitingCall,
  toolName: string,
  input: unknown,
): Promise<CodeModeApprovalReceipt> {
  const { call } = waiting;
  if (call.toolName !== toolName || !(await isSameJson(await toShown(input), call.input))) {
    throw new CodeModeProtocolError(
      `Cannot approve the call of "${toolName}": what was approved is not the call that waits`,
    );
  }
  const header = new TextEncoder().encode(await factsOf(waiting));
  const receipt = continuationSealer().sealText({ header, content: new Uint8Array() }, PURPOSE);
  return { type: "code-mode-approved", toolName, receipt };
}

/** Whether it was issued for exactly this call, by this host or one with the same key. */
export async function isReceiptFor(value: unknown, waiting: WaitingCall): Promise<boolean> {
  if (!isReceipt(value)) return false;
  const opened = continuationSealer().openText(value.receipt, PURPOSE, 0);
  return opened.ok && new TextDecoder().decode(opened.header) === (await factsOf(waiting));
}

async function factsOf({ interrupt, call }: WaitingCall): Promise<string> {
  return JSON.stringify([
    1,
    digestOf(interrupt.continuation.token),
    call.interruptId,
    call.toolName,
    await inTurns(contentDigest(call.input)),
  ]);
}
