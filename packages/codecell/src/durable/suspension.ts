/** Suspension: what a caller gets when a run was suspended, into a token or into a store. Runs anywhere. */
import { toCallId } from "../contract/ledger.ts";
import type { PendingCall, Suspension } from "../contract/result.ts";
import type { Json } from "../contract/value.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { reasonsOf } from "../ledger/yields.ts";
import { isTurnLong, nextTurn } from "../loop/turn.ts";
import { parseJson } from "../value/parse-json.ts";
import type { RunAtRest } from "./suspended-run.ts";

/** `issued` is the token with which the run can be resumed, and its expiry. */
export async function toSuspension(
  recorder: LedgerRecorder,
  rest: RunAtRest,
  issued: Pick<Suspension, "token" | "expiresAt">,
): Promise<Suspension> {
  const pending: PendingCall[] = [];
  for (const [index, { payload }] of rest.pending)
    pending.push(await toPendingCall(recorder, index, payload));
  return { ...issued, pending, yielded: await reasonsOf(recorder) };
}

/** Works in turns: there may be many calls, and each input may be large. */
async function toPendingCall(recorder: LedgerRecorder, index: number, payload: Json): Promise<PendingCall> {
  const { tool = "", input = "null" } = recorder.calls[index] ?? {};
  while (isTurnLong()) await nextTurn();
  const parsed = await parseJson(input, recorder.header.limits.callInputBytes);
  return {
    callId: toCallId(recorder.header.runId, index),
    tool,
    input: parsed.ok ? parsed.value : null,
    payload,
  };
}
