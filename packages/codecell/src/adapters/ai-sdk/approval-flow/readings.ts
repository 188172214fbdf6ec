/**
 * Runs on the host. Readings: the histories of conversations, each read once per step of the AI SDK, for one set of
 * settings.
 *
 * - The AI SDK asks many times in a step: what to prepare, what the model says, who approves, what to execute. Every
 *   question gets the same history, in which each seal is verified once.
 * - Each step verifies again: it trusts nothing because an earlier step did.
 */
import type { Steps } from "../../../loop/turn.ts";
import type { Sealer } from "../../../seal/seal.ts";
import { type Verified, verifyInterrupt } from "../continuation.ts";
import { continuationSealer } from "../hosts.ts";
import { History } from "./history.ts";

interface Reading {
  /** A copy of the list: the list may have grown since. */
  readonly messages: readonly unknown[];
  readonly sealer: Sealer;
  readonly history: Promise<History>;
}

export class Readings {
  readonly #codeModeTools: ReadonlySet<string>;
  /** By the list of messages: the AI SDK uses the same list for all its questions in a step. */
  readonly #byList = new WeakMap<readonly unknown[], Reading>();
  /** By interrupt: the prompt of a provider has other messages, which hold the same interrupts. */
  readonly #verified = new WeakMap<object, { readonly sealer: Sealer; readonly verified: Verified }>();

  constructor(codeModeTools: ReadonlySet<string>) {
    this.#codeModeTools = codeModeTools;
  }

  /** Called when a step begins with these messages. */
  begin(messages: readonly unknown[]): Promise<History> {
    const sealer = continuationSealer();
    const history = History.read(messages, this.#codeModeTools, (value) => this.#verify(value));
    this.#byList.set(messages, { messages: [...messages], sealer, history });
    return history;
  }

  /**
   * The history that was read when the step of these messages began. Approved calls are executed before the first step:
   * they begin a step.
   */
  of(messages: readonly unknown[]): Promise<History> {
    const reading = this.#byList.get(messages);
    const isAsRead =
      reading?.sealer === continuationSealer() &&
      reading.messages.length === messages.length &&
      reading.messages.every((message, index) => message === messages[index]);
    return isAsRead ? reading.history : this.begin(messages);
  }

  /** The history of a step that has begun, from the prompt that its provider gets. */
  ofPrompt(prompt: readonly unknown[]): Promise<History> {
    return History.read(prompt, this.#codeModeTools, (value) => this.#verifyOnce(value));
  }

  *#verify(value: object): Steps<Verified> {
    const sealer = continuationSealer();
    const verified = yield* verifyInterrupt(value);
    this.#verified.set(value, { sealer, verified });
    return verified;
  }

  *#verifyOnce(value: object): Steps<Verified> {
    const known = this.#verified.get(value);
    return known?.sealer === continuationSealer() ? known.verified : yield* this.#verify(value);
  }
}
