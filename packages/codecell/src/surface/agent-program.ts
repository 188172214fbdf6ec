/**
 * Runs on the host. AgentProgram is one program of an agent run, from its `exec` over all its `wait`s.
 *
 * - An exchange is one `exec` or one `wait` of the program, and its answer.
 * - It knows its calls that are under way, of all its exchanges, and can abort them all.
 * - It is over once it has ended, has expired or was dropped. Then its calls are aborted, and nothing is left to
 *   resume.
 */
import { cutShort } from "../contract/cut-short.ts";
import { KeptInput } from "../calls/middleware.ts";
import type { Steps } from "../loop/turn.ts";
import { printBeginning } from "../value/print-json.ts";
import type { Language } from "../contract/ledger.ts";
import type { Resolutions } from "../contract/result.ts";
import type { Json } from "../contract/value.ts";
import type { CodeModeErrorCode, PendingToolCall } from "./shown/code-mode-result.ts";
import type { OutputBudget } from "./output/output-budget.ts";
import { shortenJson } from "./output/shorten-json.ts";

/** What the caller of an exchange (an `exec` or a `wait`) may give. */
export interface ExchangeOptions {
  /** The id of the model's tool call. */
  readonly toolCallId?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  /** Called with the progress that nested tools report. */
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

/** How a program ended, for whoever asks for it later. */
export type ProgramEnd = "ended" | Extract<CodeModeErrorCode, "snapshot_expired" | "aborted">;

const SHORT_INPUT = 200;
/** Most bytes of what a call asks for; a model reads it. */
const MOST_ASKED_BYTES = 4096;

export class AgentProgram {
  /** The model's tool call that began the program; the parent of all its calls. */
  readonly toolCallId: string;
  /** Undefined for a program that another process began. */
  readonly program: Program | undefined;
  /** The id of the run, once there is a run. */
  runId: string;
  /** Whether an exchange is under way: until the program is over or held again. */
  isExecuting = false;
  /** The token of the last suspension. */
  token: string | undefined;
  /** What is left for output, once there was some. */
  budget: OutputBudget | undefined;
  /** The callback of the present exchange. */
  onUpdate: ExchangeOptions["onUpdate"];
  /** The host's resolutions of calls that asked, for the next exchange. */
  resolutions: Resolutions = {};
  readonly #abort = new AbortController();
  readonly #pending = new Map<string, PendingToolCall>();
  /** Inputs of waiting calls, as they were decided on. So no hook is asked again, and no other input is executed. */
  readonly #kept = new Map<string, KeptInput>();
  /** When each call first began. */
  readonly #began = new Map<string, string>();
  /** Calls that have reached their tools. */
  readonly #executed = new Set<string>();
  /** What waited for a decision, and what was resolved, when the program last went on. */
  #asked: readonly PendingToolCall[] = [];
  #resolved: Resolutions = {};

  constructor(toolCallId: string, program?: Program, runId = "") {
    this.toolCallId = toolCallId;
    this.program = program;
    this.runId = runId;
  }

  /** Aborts when the program is over. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** How many calls have reached their tools. */
  get calls(): number {
    return this.#executed.size;
  }

  /** Whether the program has made this call. */
  isKnown(callId: string): boolean {
    return this.#began.has(callId);
  }

  /** Ids of all calls that the program made. */
  get callIds(): Iterable<string> {
    return this.#began.keys();
  }

  /** In the order the program made them. Ids of calls end in their numbers, so a shorter id came before. */
  get pending(): readonly PendingToolCall[] {
    return [...this.#pending.values()].toSorted(
      ({ id: one }, { id: other }) => one.length - other.length || (one < other ? -1 : 1),
    );
  }

  /** Ids of the calls that wait for a decision. */
  get asking(): readonly string[] {
    return [...this.#pending.values()].filter(({ asks }) => asks !== undefined).map(({ id }) => id);
  }

  /** The input that was decided on for a call that comes again. */
  keptOf(callId: string): KeptInput | undefined {
    return this.#kept.get(callId);
  }

  keep(callId: string, input: unknown): void {
    this.#kept.set(callId, new KeptInput(input));
  }

  /** Notes that a call reaches its tool. False for a second time: a call that asked for a decision comes again. */
  execute(callId: string): boolean {
    const isNew = !this.#executed.has(callId);
    this.#executed.add(callId);
    return isNew;
  }

  /**
   * Notes a call under way, with the input as the program wrote it: a model is shown it, and a hook may have added a
   * secret.
   */
  begin(callId: string, tool: string, input: unknown, inputText?: string): void {
    this.#pending.set(callId, this.#toPending(callId, tool, input, inputText));
  }

  /** Notes that a call waits for a decision. To list the names of a large input takes half of a turn. */
  *ask(callId: string, tool: string, input: unknown, asks: Json): Steps<void> {
    const pending = this.#toPending(callId, tool, input);
    yield;
    this.#pending.set(callId, { ...pending, asks: shortenJson(asks, MOST_ASKED_BYTES) });
  }

  /** Lets the program go on. Calls that still wait for a decision will ask again. */
  goOn(): Resolutions {
    const { resolutions } = this;
    this.#asked = this.pending.filter(({ asks }) => asks !== undefined);
    this.#resolved = resolutions;
    for (const { id } of this.#asked) this.#pending.delete(id);
    this.resolutions = {};
    return resolutions;
  }

  /** Restores everything after the program could not go on. */
  stay(): void {
    this.isExecuting = false;
    this.onUpdate = undefined;
    for (const call of this.#asked) this.#pending.set(call.id, call);
    this.resolutions = { ...this.#resolved, ...this.resolutions };
  }

  end(callId: string): void {
    this.#pending.delete(callId);
  }

  /** Ends a call that will not come again, and forgets its input. */
  settle(callId: string): void {
    this.end(callId);
    this.#kept.delete(callId);
  }

  #toPending(id: string, tool: string, input: unknown, inputText?: string): PendingToolCall {
    const startedAt = this.#began.get(id) ?? new Date().toISOString();
    this.#began.set(id, startedAt);
    return { id, tool, startedAt, input: shortened(input, inputText) };
  }

  /** Notes that the program is over, and aborts its calls. */
  abort(reason: string): void {
    // On Node 26 whoever keeps the abort reason also keeps all that was on its stack, such as this program. Its token
    // is large, so drop it.
    this.token = undefined;
    this.#abort.abort(new DOMException(reason, "AbortError"));
  }
}

function shortened(input: unknown, inputText?: string): string {
  // A schema or a hook may have made an input that is not JSON.
  const text = inputText ?? printBeginning(input, SHORT_INPUT + 1);
  return cutShort(text, SHORT_INPUT);
}
