/**
 * Runs on the host. Fork: the past of a run up to the outcome of one call, as the past of a new run.
 *
 * - The program sees again what it had seen by then, without any tool. Calls that were under way then are made anew,
 *   under keys of the new run: a fork is another run, not the same run twice.
 */
import type { Ledger, SettledOutcome } from "../../contract/ledger.ts";
import type { Limits } from "../../contract/limits.ts";
import type { CallResolution, ForkOutcome } from "../../contract/result.ts";
import { newPast, type RunPast } from "../../durable/run-past.ts";
import { isYield, type LedgerHeader, LedgerRecorder } from "../../ledger/ledger-recorder.ts";
import { settledCalls } from "../../ledger/settled-calls.ts";
import { toJsonText, utf8Bytes } from "../../value/json-text.ts";
import { isRecord } from "../../value/shape.ts";

/** `header` is the header of the new run. */
export function forkPast(
  ledger: Ledger,
  header: LedgerHeader,
  atCall: number,
  outcome: ForkOutcome | undefined,
): RunPast {
  if (!Number.isInteger(atCall) || atCall < 0 || atCall >= ledger.calls.length) {
    throw new RangeError(
      `Cannot fork at call ${String(atCall)}: the run made ${ledger.calls.length}, counted from 0`,
    );
  }
  const found = ledger.deliveries.findIndex((delivery) =>
    delivery.items.some((item) => item.kind !== "timer" && item.call === atCall),
  );
  const deliveries = found === -1 ? ledger.deliveries : ledger.deliveries.slice(0, found);
  // Outcomes that came together with the call's are delivered again.
  const items = (ledger.deliveries[found]?.items ?? []).filter(
    (item) => item.kind !== "timer" && item.call !== atCall,
  );
  if (outcome !== undefined) items.push(toItem(atCall, outcome, ledger.limits));
  const settled = settledCalls([...deliveries, { clock: 0, items }]);
  // Calls are numbered in the order in which they were made. So all calls up to the last one that is settled or forked
  // at had been made.
  let made = atCall + 1;
  for (const index of settled) made = Math.max(made, index + 1);
  const calls = ledger.calls.slice(0, made);
  const open = new Map<number, CallResolution | undefined>();
  for (const [index, call] of calls.entries()) {
    // No tool serves a yield: a yield that has not ended suspends the new run.
    if (!settled.has(index) && !isYield(ledger, call)) open.set(index, undefined);
  }
  // Part of the past, so that it holds wherever the new run goes on.
  const last = items.length === 0 ? [] : [{ clock: Date.now(), items }];
  // Another program may set other timers under the same numbers, so nobody can tell which of them have fired.
  const isRepeated = header.source === ledger.source;
  const recorder = new LedgerRecorder(header, { calls, deliveries: [...deliveries, ...last], isRepeated });
  return { ...newPast(recorder), open };
}

/** Accepts only what a tool could have given. */
function toItem(call: number, outcome: ForkOutcome, { callOutputBytes }: Limits): SettledOutcome {
  if (isRecord(outcome) && "output" in outcome) {
    const output = toJsonText(outcome.output);
    if (output === undefined) throw new TypeError("Cannot fork with this output: it is not JSON");
    const bytes = utf8Bytes(output);
    if (bytes > callOutputBytes) {
      throw new RangeError(
        `Cannot fork with this output: it has ${bytes} bytes, at most ${callOutputBytes} are allowed`,
      );
    }
    return { kind: "output", call, output };
  }
  const { name = "Error", message }: { name?: unknown; message?: unknown } =
    isRecord(outcome) && isRecord(outcome.error) ? outcome.error : {};
  if (typeof name !== "string" || typeof message !== "string") {
    throw new TypeError("Cannot fork with this outcome: it needs an output, or an error with a message");
  }
  return { kind: "failure", call, failure: { code: "tool_failed", name, message } };
}
