/**
 * Runs on the host. PausedProgram: an interrupted program, as the messages of a conversation describe it.
 *
 * - Messages are believed only as far as their seals go. If an interrupt does not fit its seal, only the ids of
 *   its calls are used, to hide these calls from a model. Nobody is asked for such an interrupt, and nothing is
 *   resumed.
 */
import { cutShort } from "../../../contract/cut-short.ts";
import type { Steps } from "../../../loop/turn.ts";
import { printBeginning } from "../../../value/print-json.ts";
import { isRecord } from "../../../value/shape.ts";
import type { OpenedInterrupt, Verified } from "../continuation.ts";
import { APPROVAL_KIND, type CodeModeInterrupt, type CodeModePendingInterrupt } from "../interrupt.ts";
import type { WaitingCall } from "./receipt.ts";

/**
 * ask: nobody was asked for the approvals yet; resume: all approvals are answered; over: the program has an output;
 * stuck: all else.
 */
export type Stage = "ask" | "resume" | "over" | "stuck";

const LONGEST_INPUT = 200;

export class PausedProgram {
  readonly outerToolCallId: string;
  readonly toolName: string;
  /** The call that continues the program, if that call was made. */
  resumeId: string | undefined;
  readonly #asked = new Set<string>();
  readonly #approved = new Set<string>();
  readonly #answers = new Map<string, unknown>();
  #output: unknown;
  #claimed: Record<string, unknown> | undefined;
  #opened: OpenedInterrupt | undefined;
  /** Calls that wait for a yes or no, by `toolCallId`. */
  #approvals: ReadonlyMap<string, CodeModePendingInterrupt> = new Map();
  #problem: string | undefined;
  #isSuperseded = false;

  constructor(outerToolCallId: string, toolName: string) {
    this.outerToolCallId = outerToolCallId;
    this.toolName = toolName;
  }

  /**
   * Takes the output of the call that started the program, or of a call that continued it. `verified` is set if the
   * output is an interrupt.
   */
  update(output: unknown, verified: Verified | undefined): void {
    const value = valueOf(output);
    const claimed = verified !== undefined && looksLikeInterrupt(value) ? value : undefined;
    this.#output = output;
    this.#claimed = claimed;
    this.#problem = typeof verified === "string" ? verified : this.#strangeness(claimed);
    this.#opened = this.#problem === undefined && typeof verified !== "string" ? verified : undefined;
    const approvals = this.#pending().filter(({ payload }) => payload.kind === APPROVAL_KIND);
    this.#approvals = new Map(approvals.map((call) => [call.toolCallId, call]));
    this.resumeId = undefined;
    this.#asked.clear();
    this.#approved.clear();
    this.#answers.clear();
    this.#isSuperseded = false;
  }

  #strangeness(claimed: Record<string, unknown> | undefined): string | undefined {
    const isOwn = claimed === undefined || claimed["outerToolCallId"] === this.outerToolCallId;
    return isOwn ? undefined : "its interrupt is of another call";
  }

  /** Why the seal says that the program can never go on; only if somebody may still wait for the program. */
  get problem(): string | undefined {
    return this.#isSuperseded ? undefined : this.#problem;
  }

  /** Whether the program is to go on as soon as its approvals are answered, and nobody has moved on. */
  get isExpected(): boolean {
    return this.#approvals.size > 0 && this.resumeId === undefined && !this.#isSuperseded && !this.#isExpired;
  }

  /** The program's interrupt, with what its seal says. */
  get opened(): OpenedInterrupt | undefined {
    return this.#opened;
  }

  get #interrupt(): CodeModeInterrupt | undefined {
    return this.#opened?.interrupt;
  }

  /** Calls that wait for a yes or no. */
  get approvals(): readonly CodeModePendingInterrupt[] {
    return [...this.#approvals.values()];
  }

  /** Ids of all waiting calls, even if only the messages claim them. Only ids that a program of this call can have. */
  get callIds(): readonly string[] {
    return this.#claims().map(({ toolCallId }) => toolCallId);
  }

  /** Whether all approvals are answered, even if only the messages claim so, and the program has not gone on since. */
  get isAnswered(): boolean {
    const approvals = this.#claims().filter(({ kind }) => kind === APPROVAL_KIND);
    const isAnswered = approvals.every(({ toolCallId }) => this.#answers.has(toolCallId));
    return approvals.length > 0 && isAnswered && this.resumeId === undefined;
  }

  approval(toolCallId: string): WaitingCall | undefined {
    const interrupt = this.#interrupt;
    const call = this.#approvals.get(toolCallId);
    return interrupt === undefined || call === undefined ? undefined : { interrupt, call };
  }

  ask(toolCallId: string): void {
    this.#asked.add(toolCallId);
  }

  answer(toolCallId: string, output: unknown): void {
    this.#answers.set(toolCallId, output);
  }

  answerTo(toolCallId: string): unknown {
    return this.#answers.get(toolCallId);
  }

  /** Somebody said yes. Only messages of the AI SDK say so; the prompt of a provider does not. */
  approve(toolCallId: string): void {
    this.#approved.add(toolCallId);
  }

  /**
   * Whether somebody said no. If the tool of an approved call is missing, the AI SDK answers with an error or a denial:
   * neither counts as a no.
   */
  isDenied(toolCallId: string): boolean {
    const answer = this.#answers.get(toolCallId);
    return isRecord(answer) && answer["type"] === "execution-denied" && !this.#approved.has(toolCallId);
  }

  /** The user wrote a message instead of answering. The AI SDK drops requests then, and so do we. */
  supersede(): void {
    this.#isSuperseded = true;
  }

  get stage(): Stage {
    if (this.#claimed === undefined) return "over";
    if (this.#approvals.size === 0 || this.resumeId !== undefined) return "stuck";
    if (this.isAnswered) return "resume";
    return this.#asked.size > 0 || this.#isSuperseded || this.#isExpired ? "stuck" : "ask";
  }

  /** What a model sees: the output, or why there is none. Never an interrupt. */
  *tell(): Steps<unknown> {
    return this.#claimed === undefined ? this.#output : { type: "error-text", value: yield* this.#why() };
  }

  get #isExpired(): boolean {
    return (this.#interrupt?.continuation.expiresAtMs ?? 0) <= Date.now();
  }

  #claims(): { readonly toolCallId: string; readonly kind: unknown }[] {
    const { continuation }: Record<string, unknown> = this.#claimed ?? {};
    const pending: unknown = isRecord(continuation) ? continuation["pending"] : undefined;
    return (Array.isArray(pending) ? (pending as unknown[]) : []).flatMap((one) => {
      const { toolCallId, payload }: Record<string, unknown> = isRecord(one) ? one : {};
      const isOwn = typeof toolCallId === "string" && toolCallId.startsWith(`${this.outerToolCallId}:tool-`);
      return isOwn ? [{ toolCallId, kind: isRecord(payload) ? payload["kind"] : undefined }] : [];
    });
  }

  #pending(): readonly CodeModePendingInterrupt[] {
    return this.#interrupt?.continuation.pending ?? [];
  }

  *#why(): Steps<string> {
    if (this.#interrupt === undefined) return "The program was stopped and cannot go on.";
    const [waits, lacks] = [this.approvals, this.#isExpired ? "in time" : "yet"];
    const calls: string[] = [];
    for (const call of waits.length > 0 ? waits : this.#pending()) {
      // To list the names of a large input takes half of a turn.
      yield;
      calls.push(waits.length > 0 ? inWords(call) : `${inWords(call)} waits for "${call.payload.kind}"`);
    }
    const listed = calls.join(", ");
    if (waits.length > 0) {
      return `The program has stopped: it waits for the approval of ${listed}, which was not given ${lacks}.`;
    }
    return `The program has stopped: ${listed}.`;
  }
}

function inWords({ toolName, input }: CodeModePendingInterrupt): string {
  return `${toolName}(${cutShort(printBeginning(input, LONGEST_INPUT + 1), LONGEST_INPUT)})`;
}

/** The value that a tool's output was made of. */
export function valueOf(output: unknown): unknown {
  return isRecord(output) && (output["type"] === "json" || output["type"] === "text")
    ? output["value"]
    : output;
}

/** Whether a value claims to be an interrupt, true or not. */
export function looksLikeInterrupt(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && value["type"] === "code-mode-interrupt";
}
