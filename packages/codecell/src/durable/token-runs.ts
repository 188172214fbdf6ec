/**
 * TokenRuns: the runs that a host without a store suspends, each sealed into a token. Runs on the host.
 *
 * - If a token is resumed in this process, the run gets the outcomes of calls that went on here. No other process knows
 *   them.
 * - If this process had an outcome and forgot it, the host is told when the run goes on without it.
 */
import { randomUUID } from "node:crypto";
import type { Failure } from "../contract/failure.ts";
import type { ErrorListener } from "../contract/host-error.ts";
import { type CallOutcome, toCallId } from "../contract/ledger.ts";
import type { Suspension } from "../contract/result.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { atOnce, inTurns, type Steps } from "../loop/turn.ts";
import { versionFailure } from "../seal/vault.ts";
import { LATE_SIZE, LateOutcomes } from "./late-outcomes.ts";
import { recover } from "./recovery.ts";
import type { KeepingTerms, OpenRun, RunKeeping } from "./run-keeping.ts";
import type { RunPast } from "./run-past.ts";
import type { RunAtRest, SuspendedRun } from "./suspended-run.ts";
import { toSuspension } from "./suspension.ts";
import type { OpenToken, Tokens } from "./token.ts";

/** What all runs that a host suspends into tokens share. */
interface TokenParts {
  readonly tokens: Tokens;
  readonly late: LateOutcomes;
  /** The name of this host in tokens. No other process can ask it for outcomes. */
  readonly executor: string;
}

export class TokenRuns {
  readonly #parts: TokenParts;

  constructor(tokens: Tokens) {
    this.#parts = { tokens, late: new LateOutcomes(), executor: randomUUID() };
  }

  keep(recorder: LedgerRecorder, terms: KeepingTerms): RunKeeping {
    return new TokenKeeping(this.#parts, recorder, terms, NOTHING_AWAITED);
  }

  /** Opens a small run at once. Whoever opens the run has to take it in the same turn, or not at all. */
  open(token: OpenToken, tools: ToolSet): OpenRun | Failure {
    return atOnce(this.#open(token, token.peek(), tools));
  }

  /** Opens a run in turns. Meanwhile the token counts as used. */
  async openInTurns(token: OpenToken, tools: ToolSet): Promise<OpenRun | Failure> {
    const refusal = token.use();
    if (refusal !== undefined) return refusal;
    let opened: OpenRun | Failure | undefined;
    try {
      opened = await inTurns(this.#open(token, await token.unpack(), tools));
      return opened;
    } finally {
      if (opened === undefined || "code" in opened) token.release();
    }
  }

  close(): void {
    this.#parts.late.giveUpAll();
  }

  *#open(token: OpenToken, state: SuspendedRun | undefined, tools: ToolSet): Steps<OpenRun | Failure> {
    if (state === undefined) return versionFailure("token");
    const { late } = this.#parts;
    const { executing, ledger } = state;
    const outcomes = late.settled(ledger.runId, callsOf(executing));
    const isAwaited = (call: number): boolean => late.isExpected(ledger.runId, call);
    const past = yield* recover({ state, entries: [], outcomes, saved: undefined }, tools, isAwaited);
    return new OpenTokenRun(this.#parts, token, { past, executing, outcomes });
  }
}

/** A run that was in a token, with the calls that were left to executors and the outcomes that were there. */
interface TokenRun extends Pick<SuspendedRun, "executing"> {
  readonly past: RunPast;
  readonly outcomes: ReadonlyMap<number, CallOutcome>;
}

function callsOf(executing: SuspendedRun["executing"]): number[] {
  return executing.map(([call]) => call);
}

class OpenTokenRun implements OpenRun {
  readonly past: RunPast;
  readonly #parts: TokenParts;
  readonly #token: OpenToken;
  readonly #run: TokenRun;

  constructor(parts: TokenParts, token: OpenToken, run: TokenRun) {
    this.past = run.past;
    this.#parts = parts;
    this.#token = token;
    this.#run = run;
  }

  take(terms: KeepingTerms): RunKeeping {
    const { recorder } = this.past;
    this.#token.use();
    const awaited = this.#parts.late.take(recorder.header.runId, callsOf(this.#run.executing));
    this.#tellForgotten(awaited, terms.errors);
    return new TokenKeeping(this.#parts, recorder, terms, awaited);
  }

  /** Tells of calls that were executed here, and whose outcomes are not here any more. */
  #tellForgotten(awaited: ReadonlyMap<number, unknown>, errors: ErrorListener): void {
    const { header, calls } = this.past.recorder;
    const { executing, outcomes } = this.#run;
    for (const [call, executor] of executing) {
      if (executor !== this.#parts.executor || awaited.has(call) || outcomes.has(call)) continue;
      const callId = toCallId(header.runId, call);
      const message = `Cannot give call ${callId} its outcome: outcomes of suspended runs had more than ${LATE_SIZE} characters together, so it was forgotten`;
      errors.tell({ error: new Error(message), source: "internal", callId, tool: calls[call]?.tool ?? "" });
    }
  }

  giveBack(): Promise<void> {
    this.#token.release();
    return Promise.resolve();
  }

  discard(): Promise<void> {
    this.#token.use();
    this.#parts.late.giveUp(this.past.recorder.header.runId, callsOf(this.#run.executing));
    return Promise.resolve();
  }
}

const NOTHING_AWAITED: ReadonlyMap<number, Promise<CallOutcome>> = new Map();

class TokenKeeping implements RunKeeping {
  readonly journal: undefined;
  readonly #parts: TokenParts;
  readonly #recorder: LedgerRecorder;
  readonly #terms: KeepingTerms;
  /** Outcomes of calls that have been executing here since the run was suspended. */
  readonly #awaited: ReadonlyMap<number, Promise<CallOutcome>>;

  constructor(
    parts: TokenParts,
    recorder: LedgerRecorder,
    terms: KeepingTerms,
    awaited: ReadonlyMap<number, Promise<CallOutcome>>,
  ) {
    this.#parts = parts;
    this.#recorder = recorder;
    this.#terms = terms;
    this.#awaited = awaited;
  }

  async suspend(rest: RunAtRest): Promise<Suspension | Failure> {
    const { tokens, late, executor } = this.#parts;
    const { scope, token: style } = this.#terms;
    const issued = await tokens.issue(this.#recorder, scope, executor, rest, style);
    if ("code" in issued) return issued;
    const { runId } = this.#recorder.header;
    late.expect(runId, rest.executing, issued.expiresAt, rest.abort);
    late.giveUp(
      runId,
      [...this.#awaited.keys()].filter((call) => !rest.executing.has(call)),
    );
    return toSuspension(this.#recorder, rest, issued);
  }

  takeLate(outcome: CallOutcome): void {
    const { header, calls } = this.#recorder;
    this.#parts.late.settle(header.runId, outcome, calls[outcome.call]?.input.length ?? 0);
  }

  async awaitOutcome(call: number): Promise<CallOutcome | undefined> {
    return this.#awaited.get(call);
  }

  giveUpCalls(): void {
    this.#parts.late.giveUp(this.#recorder.header.runId, this.#awaited.keys());
  }

  conclude(): Promise<void> {
    return Promise.resolve();
  }
}
