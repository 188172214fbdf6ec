/**
 * PausedProgram: a program that was interrupted, as the messages of a conversation tell of it.
 *
 * - What is told is believed only as far as its seal goes. Of an interrupt that does not fit its seal nothing is taken
 *   but the ids of its calls, so that a model is not shown them; nothing is asked or resumed for it.
 */
import { printBeginning } from "../../../value/print-json.ts";
import { isRecord } from "../../../value/shape.ts";
import type { OpenedInterrupt, Verified } from "../continuation.ts";
import { APPROVAL_KIND, type CodeModeInterrupt, type CodeModePendingInterrupt } from "../interrupt.ts";
import type { WaitingCall } from "./receipt.ts";

/** ask: nobody was asked for its approvals; resume: all of them are answered; over: it has an output; stuck: the rest. */
export type Stage = "ask" | "resume" | "over" | "stuck";

const LONGEST_INPUT = 200;

export class PausedProgram {
  readonly outerToolCallId: string;
  readonly toolName: string;
  /** The call that goes on with it, if it was made. */
  resumeId: string | undefined;
  readonly #asked = new Set<string>();
  readonly #approved = new Set<string>();
  readonly #answers = new Map<string, unknown>();
  #output: unknown;
  #claimed: Record<string, unknown> | undefined;
  #opened: OpenedInterrupt | undefined;
  #problem: string | undefined;
  #isSuperseded = false;

  constructor(outerToolCallId: string, toolName: string) {
    this.outerToolCallId = outerToolCallId;
    this.toolName = toolName;
  }

  /** The call that started it, or one that went on with it, has come to this; `verified` where it is an interrupt. */
  update(output: unknown, verified: Verified | undefined): void {
    const value = valueOf(output);
    const claimed = verified !== undefined && looksLikeInterrupt(value) ? value : undefined;
    this.#output = output;
    this.#claimed = claimed;
    this.#problem = typeof verified === "string" ? verified : this.#strangeness(claimed);
    this.#opened = this.#problem === undefined && typeof verified !== "string" ? verified : undefined;
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

  /** Why it can never go on, by what its seal says, if somebody may still wait for it. */
  get problem(): string | undefined {
    return this.#isSuperseded ? undefined : this.#problem;
  }

  /** Whether it is to go on as soon as its approvals are answered, and nobody has moved on. */
  get isExpected(): boolean {
    return (
      this.approvals.length > 0 && this.resumeId === undefined && !this.#isSuperseded && !this.#isExpired
    );
  }

  /** Its interrupt, with what the seal says. */
  get opened(): OpenedInterrupt | undefined {
    return this.#opened;
  }

  get #interrupt(): CodeModeInterrupt | undefined {
    return this.#opened?.interrupt;
  }

  /** Calls that wait for a yes or no. */
  get approvals(): readonly CodeModePendingInterrupt[] {
    return this.#pending().filter(({ payload }) => payload.kind === APPROVAL_KIND);
  }

  /** Ids of all calls that wait, if only by what the messages claim; no others than a program of this call can have. */
  get callIds(): readonly string[] {
    return this.#claims().map(({ toolCallId }) => toolCallId);
  }

  /** Whether all approvals have been answered, if only by what the messages claim, and nothing went on since. */
  get isAnswered(): boolean {
    const approvals = this.#claims().filter(({ kind }) => kind === APPROVAL_KIND);
    const isAnswered = approvals.every(({ toolCallId }) => this.#answers.has(toolCallId));
    return approvals.length > 0 && isAnswered && this.resumeId === undefined;
  }

  approval(toolCallId: string): WaitingCall | undefined {
    const interrupt = this.#interrupt;
    const call = this.approvals.find((one) => one.toolCallId === toolCallId);
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

  /** Somebody said yes; only messages of the AI SDK tell, and not what a provider is sent. */
  approve(toolCallId: string): void {
    this.#approved.add(toolCallId);
  }

  /** Whether somebody said no. Where the tool of an approved call is missing, the AI SDK answers with an error or a denial. */
  isDenied(toolCallId: string): boolean {
    const answer = this.#answers.get(toolCallId);
    return isRecord(answer) && answer["type"] === "execution-denied" && !this.#approved.has(toolCallId);
  }

  /** Somebody said something instead of answering: the AI SDK drops requests then, and so do we. */
  supersede(): void {
    this.#isSuperseded = true;
  }

  get stage(): Stage {
    if (this.#claimed === undefined) return "over";
    if (this.approvals.length === 0 || this.resumeId !== undefined) return "stuck";
    if (this.isAnswered) return "resume";
    return this.#asked.size > 0 || this.#isSuperseded || this.#isExpired ? "stuck" : "ask";
  }

  /** What a model is told: the output, or why there is none. Never an interrupt. */
  get told(): unknown {
    return this.#claimed === undefined ? this.#output : { type: "error-text", value: this.#why() };
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

  #why(): string {
    if (this.#interrupt === undefined) return "The program was stopped and cannot go on.";
    const [waits, lacks] = [this.approvals, this.#isExpired ? "in time" : "yet"];
    if (waits.length > 0) {
      return `The program has stopped: it waits for the approval of ${waits.map(inWords).join(", ")}, which was not given ${lacks}.`;
    }
    return `The program has stopped: ${this.#pending()
      .map((call) => `${inWords(call)} waits for "${call.payload.kind}"`)
      .join(", ")}.`;
  }
}

function inWords({ toolName, input }: CodeModePendingInterrupt): string {
  const text = printBeginning(input, LONGEST_INPUT + 1);
  return `${toolName}(${text.length > LONGEST_INPUT ? `${text.slice(0, LONGEST_INPUT)}…` : text})`;
}

/** What a tool's output was made of. */
export function valueOf(output: unknown): unknown {
  return isRecord(output) && (output["type"] === "json" || output["type"] === "text")
    ? output["value"]
    : output;
}

/** An interrupt by its own words, true or not. */
export function looksLikeInterrupt(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && value["type"] === "code-mode-interrupt";
}
