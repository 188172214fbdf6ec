/**
 * Runs on the host. Receipt: proves to a waiting program that the AI SDK let its approved call be executed.
 *
 * - A receipt is sealed for one pause of one call with one input. It is worth nothing for any other.
 * - Receipts are made only where the AI SDK executes a stand-in: after the AI SDK has found and checked an approval.
 */
import { inTurns } from "../../../loop/turn.ts";
import { isRecord } from "../../../value/shape.ts";
import { contentDigest, isSameJson, tokenDigestOf } from "../continuation.ts";
import { CodeModeProtocolError } from "../errors.ts";
import { continuationSealer } from "../hosts.ts";
import type { CodeModeInterrupt, CodeModePendingInterrupt } from "../interrupt.ts";
import { toShown } from "../nested-call.ts";

const PURPOSE = "code mode approval receipt";

/** The result of an approved call, as the AI SDK has it. The program itself makes the call. */
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

/** Throws unless the input is the input of the waiting call. */
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

/** Whether this host, or a host with the same key, issued the receipt for exactly this call. */
export async function isReceiptFor(value: unknown, waiting: WaitingCall): Promise<boolean> {
  if (!isReceipt(value)) return false;
  const opened = continuationSealer().openText(value.receipt, PURPOSE, 0);
  return opened.ok && new TextDecoder().decode(opened.header) === (await factsOf(waiting));
}

async function factsOf({ interrupt, call }: WaitingCall): Promise<string> {
  return JSON.stringify([
    1,
    tokenDigestOf(interrupt.continuation),
    call.interruptId,
    call.toolName,
    await inTurns(contentDigest(call.input)),
  ]);
}
