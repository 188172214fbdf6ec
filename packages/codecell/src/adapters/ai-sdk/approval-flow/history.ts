/**
 * Runs on the host. History: the paused programs of a conversation, read from its messages in their order.
 *
 * - It reads messages of the AI SDK as well as prompts of a provider.
 * - Requests for approval, receipts and calls that continue a program are ours. They are recognised by the ids of their
 *   programs. Models see a history without them, in which each program was called once and gave its output.
 */
import { inTurns, type Steps } from "../../../loop/turn.ts";
import { isRecord } from "../../../value/shape.ts";
import { type Verified, verifyInterrupt, warnOfKey } from "../continuation.ts";
import { looksLikeInterrupt, PausedProgram, valueOf } from "./paused-program.ts";
import type { WaitingCall } from "./receipt.ts";

type MessagePart = Record<string, unknown>;
type Verify = (value: object) => Steps<Verified>;

export class History {
  readonly programs: PausedProgram[] = [];
  /** By the outer call's id. A provider may use an id again: then the last program counts. */
  readonly #byOuterId = new Map<string, PausedProgram>();
  readonly #byCallId = new Map<string, PausedProgram>();
  /** The id of the call that each approval asks for, by approval id. */
  readonly #byApprovalId = new Map<unknown, string>();
  readonly #byResumeId = new Map<string, PausedProgram>();
  readonly #ours = new Set<unknown>();
  readonly #outputs = new Map<unknown, PausedProgram>();

  readonly #codeModeTools: ReadonlySet<string>;
  readonly #verify: Verify;

  private constructor(codeModeTools: ReadonlySet<string>, verify: Verify) {
    this.#codeModeTools = codeModeTools;
    this.#verify = verify;
  }

  /**
   * Works in turns: an interrupt holds inputs that a program chose, and its seal covers all of them. An interrupt that
   * a known code mode tool gave counts as an interrupt even if its seal does not fit. Each interrupt is verified once.
   */
  static async read(
    messages: readonly unknown[],
    codeModeTools: ReadonlySet<string> = new Set(),
    verify: Verify = verifyInterrupt,
  ): Promise<History> {
    const history = new History(codeModeTools, verify);
    await inTurns(history.#takeAll(messages));
    return history;
  }

  *#takeAll(messages: readonly unknown[]): Steps<void> {
    for (const message of messages) {
      if (!isRecord(message)) continue;
      if (message["role"] === "user") for (const program of this.programs) program.supersede();
      for (const part of partsOf(message)) yield* this.#take(part);
    }
  }

  program(outerToolCallId: string): PausedProgram | undefined {
    return this.#byOuterId.get(outerToolCallId);
  }

  /** The call with this id, if a program waits for its approval. */
  approval(toolCallId: string): WaitingCall | undefined {
    return this.#byCallId.get(toolCallId)?.approval(toolCallId);
  }

  /** Whether this input continues a program that can go on now. */
  isResumption(input: unknown): boolean {
    const resume = resumeIn(input);
    return resume !== undefined && this.program(resume)?.stage === "resume";
  }

  /** The messages as a model may see them. Works in turns: inputs that a program chose are told in words. */
  collapse<M>(messages: readonly M[]): Promise<M[]> {
    return inTurns(this.#collapsed(messages));
  }

  *#collapsed<M>(messages: readonly M[]): Steps<M[]> {
    const collapsed: M[] = [];
    for (const message of messages) {
      if (!isRecord(message) || !Array.isArray(message["content"])) {
        collapsed.push(message);
        continue;
      }
      const parts = message["content"] as unknown[];
      const left = parts.filter((part) => !this.#ours.has(part));
      if (left.length === 0 && parts.length > 0) continue;
      const content: unknown[] = [];
      for (const part of left) content.push(yield* this.#shown(part));
      collapsed.push(Object.assign({ ...message }, { content }));
    }
    return collapsed;
  }

  *#shown(part: unknown): Steps<unknown> {
    const program = this.#outputs.get(part);
    return program === undefined ? part : { ...(part as MessagePart), output: yield* program.tell() };
  }

  *#take(part: MessagePart): Steps<void> {
    const { type, toolCallId: id, approvalId } = part;
    if (type === "tool-approval-response" && part["approved"] === true) {
      const approved = this.#byApprovalId.get(approvalId) ?? "";
      this.#byCallId.get(approved)?.approve(approved);
    }
    if (typeof id !== "string") return;
    if (type === "tool-approval-request") this.#byApprovalId.set(approvalId, id);
    if (type === "tool-call") this.#takeCall(part, id);
    else if (type === "tool-result") yield* this.#takeResult(part, id);
  }

  #takeCall(part: MessagePart, id: string): void {
    const { input, toolName } = part;
    const resumed = resumeIn(input);
    const program = resumed === undefined ? undefined : this.#byOuterId.get(resumed);
    // If a model writes a call that continues a program too early, that call gets an answer of its own.
    if (program?.toolName === toolName && program?.isAnswered === true) {
      program.resumeId = id;
      this.#byResumeId.set(id, program);
      this.#ours.add(part);
      return;
    }
    const waiting = this.#byCallId.get(id);
    waiting?.ask(id);
    if (waiting !== undefined) this.#ours.add(part);
  }

  *#takeResult(part: MessagePart, id: string): Steps<void> {
    const { output, toolName } = part;
    const resumed = this.#byResumeId.get(id);
    if (resumed !== undefined) {
      const next = valueOf(output);
      const verified = looksLikeInterrupt(next) ? yield* this.#verify(next) : undefined;
      if (typeof verified === "string") warnOfKey(verified);
      resumed.update(output, verified);
      this.#expect(resumed);
      this.#ours.add(part);
      return;
    }
    const waiting = this.#byCallId.get(id);
    if (waiting !== undefined) {
      waiting.answer(id, output);
      this.#ours.add(part);
      return;
    }
    const value = valueOf(output);
    if (typeof toolName !== "string" || !looksLikeInterrupt(value)) return;
    const verified = yield* this.#verify(value);
    if (typeof verified === "string") {
      if (!this.#codeModeTools.has(toolName)) return;
      warnOfKey(verified);
    }
    const program = new PausedProgram(id, toolName);
    program.update(output, verified);
    this.programs.push(program);
    this.#byOuterId.set(id, program);
    this.#outputs.set(part, program);
    this.#expect(program);
  }

  #expect(program: PausedProgram): void {
    for (const id of program.callIds) this.#byCallId.set(id, program);
  }
}

function resumeIn(input: unknown): string | undefined {
  return isRecord(input) && typeof input["resume"] === "string" ? input["resume"] : undefined;
}

function partsOf({ content }: Record<string, unknown>): MessagePart[] {
  return Array.isArray(content) ? (content as unknown[]).filter(isRecord) : [];
}
