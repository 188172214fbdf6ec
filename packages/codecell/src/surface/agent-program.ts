/**
 * AgentProgram: one program of an agent run, from its `exec` over all of its `wait`s.
 *
 * - Knows its calls that are under way, whichever exchange they were made in, and can abort them all.
 * - Over once it has ended, expired or was dropped; then its calls are aborted and nothing of it is left to resume.
 */
import { KeptInput } from "../calls/middleware.ts";
import { printBeginning } from "../value/print-json.ts";
import type { Language } from "../contract/ledger.ts";
import type { Resolutions } from "../contract/result.ts";
import type { Json } from "../contract/value.ts";
import type { CodeModeErrorCode, PendingToolCall } from "./shown/code-mode-result.ts";
import type { OutputBudget } from "./output/output-budget.ts";
import { shortenJson } from "./output/shorten-json.ts";

/** What an exchange of a program, an `exec` or a `wait`, is told by its caller. */
export interface ExchangeOptions {
  /** The id of the model's tool call. */
  readonly toolCallId?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  /** Gets what nested tools report on their way. */
  readonly onUpdate?: ((update: ToolUpdate) => void) | undefined;
}

export interface ToolUpdate {
  readonly callId: string;
  /** The tool's id in the catalog. */
  readonly tool: string;
  readonly update: unknown;
}

export interface Program {
  readonly source: string;
  readonly language: Language;
}

/** How a program that is over came to its end, for whoever asks for it again. */
export type ProgramEnd = "ended" | Extract<CodeModeErrorCode, "snapshot_expired" | "aborted">;

const SHORT_INPUT = 200;
/** Of what a call asks for; a model reads it. */
const MOST_ASKED_BYTES = 4096;

export class AgentProgram {
  /** The model's tool call that it began with: the parent of all its calls. */
  readonly toolCallId: string;
  /** Undefined for one that another process began. */
  readonly program: Program | undefined;
  /** The run's id, once it has one. */
  runId: string;
  /** Whether an exchange of it is under way. */
  isExecuting = false;
  /** Of its last suspension. */
  token: string | undefined;
  /** What is left of its output, once there was any. */
  budget: OutputBudget | undefined;
  /** Of the present exchange. */
  onUpdate: ExchangeOptions["onUpdate"];
  /** Decisions of the host about calls that asked for one, for the next exchange. */
  resolutions: Resolutions = {};
  readonly #abort = new AbortController();
  readonly #pending = new Map<string, PendingToolCall>();
  /** Inputs of calls that wait, as they were decided on: a hook is not asked again, and no other input is executed. */
  readonly #kept = new Map<string, KeptInput>();
  /** When calls began first. */
  readonly #began = new Map<string, string>();
  /** Calls that came to their tools. */
  readonly #executed = new Set<string>();
  /** What waited for a decision, and what was decided, when it went on last. */
  #asked: readonly PendingToolCall[] = [];
  #decided: Resolutions = {};

  constructor(toolCallId: string, program?: Program, runId = "") {
    this.toolCallId = toolCallId;
    this.program = program;
    this.runId = runId;
  }

  /** Aborted when it is over. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Calls that came to their tools so far. */
  get calls(): number {
    return this.#executed.size;
  }

  /** Whether it has seen the call. */
  isKnown(callId: string): boolean {
    return this.#began.has(callId);
  }

  /** Of all calls it made. */
  get callIds(): Iterable<string> {
    return this.#began.keys();
  }

  get pending(): readonly PendingToolCall[] {
    return [...this.#pending.values()];
  }

  /** The input that a call which comes again was decided on with. */
  keptOf(callId: string): KeptInput | undefined {
    return this.#kept.get(callId);
  }

  keep(callId: string, input: unknown): void {
    this.#kept.set(callId, new KeptInput(input));
  }

  /** A call comes to its tool; false when it did before: one that asked for a decision comes again. */
  execute(callId: string): boolean {
    const isNew = !this.#executed.has(callId);
    this.#executed.add(callId);
    return isNew;
  }

  /** With the input as the program wrote it: a model is shown it, and a hook may have added a secret. */
  begin(callId: string, tool: string, input: unknown): void {
    this.#pending.set(callId, this.#toPending(callId, tool, input));
  }

  /** The call waits for a decision. */
  ask(callId: string, tool: string, input: unknown, asks: Json): void {
    const pending = this.#toPending(callId, tool, input);
    this.#pending.set(callId, { ...pending, asks: shortenJson(asks, MOST_ASKED_BYTES) });
  }

  /** The program goes on: what still waits for a decision then will ask again. */
  goOn(): Resolutions {
    const { resolutions } = this;
    this.#asked = this.pending.filter(({ asks }) => asks !== undefined);
    this.#decided = resolutions;
    for (const { id } of this.#asked) this.#pending.delete(id);
    this.resolutions = {};
    return resolutions;
  }

  /** It could not go on, and is as it was. */
  stay(): void {
    this.isExecuting = false;
    this.onUpdate = undefined;
    for (const call of this.#asked) this.#pending.set(call.id, call);
    this.resolutions = { ...this.#decided, ...this.resolutions };
  }

  end(callId: string): void {
    this.#pending.delete(callId);
  }

  /** It ends, and does not come again: nobody needs its input any more. */
  settle(callId: string): void {
    this.end(callId);
    this.#kept.delete(callId);
  }

  #toPending(id: string, tool: string, input: unknown): PendingToolCall {
    const startedAt = this.#began.get(id) ?? new Date().toISOString();
    this.#began.set(id, startedAt);
    return { id, tool, startedAt, input: shortened(input) };
  }

  /** It is over. */
  abort(reason: string): void {
    // Whoever keeps the reason keeps, on Node 26, all that was on its stack: this program. What it was suspended to is large.
    this.token = undefined;
    this.#abort.abort(new DOMException(reason, "AbortError"));
  }
}

function shortened(input: unknown): string {
  // A schema or a hook may have made an input that is no JSON.
  const text = printBeginning(input, SHORT_INPUT + 1);
  return text.length <= SHORT_INPUT ? text : `${text.slice(0, SHORT_INPUT).toWellFormed()}…`;
}
