/**
 * Readings: the histories of conversations, each read once per step of the AI SDK. Runs on the host, for one set of settings.
 *
 * - The AI SDK asks many times in a step: what to prepare, what the model says, who approves, what to execute. All of them
 *   get the same history, and each seal in it is verified once.
 * - Each step verifies anew: it trusts nothing because an earlier step did.
 */
import type { Steps } from "../../../loop/turn.ts";
import type { Sealer } from "../../../seal/seal.ts";
import { type Verified, verifyInterrupt } from "../continuation.ts";
import { continuationSealer } from "../hosts.ts";
import { History } from "./history.ts";

interface Reading {
  /** As they were: the list may have grown since. */
  readonly messages: readonly unknown[];
  readonly sealer: Sealer;
  readonly history: Promise<History>;
}

export class Readings {
  readonly #codeModeTools: ReadonlySet<string>;
  /** By the list of messages, which is one for all that the AI SDK asks in a step. */
  readonly #byList = new WeakMap<readonly unknown[], Reading>();
  /** By interrupts: the prompt of a provider has messages of its own, and the same interrupts in them. */
  readonly #verified = new WeakMap<object, { readonly sealer: Sealer; readonly verified: Verified }>();

  constructor(codeModeTools: ReadonlySet<string>) {
    this.#codeModeTools = codeModeTools;
  }

  /** A step begins with these messages. */
  begin(messages: readonly unknown[]): Promise<History> {
    const sealer = continuationSealer();
    const history = History.read(messages, this.#codeModeTools, (value) => this.#verify(value));
    this.#byList.set(messages, { messages: [...messages], sealer, history });
    return history;
  }

  /** What was read of these messages when their step began. Approved calls are executed before the first step: they begin one. */
  of(messages: readonly unknown[]): Promise<History> {
    const reading = this.#byList.get(messages);
    const isAsRead =
      reading?.sealer === continuationSealer() &&
      reading.messages.length === messages.length &&
      reading.messages.every((message, index) => message === messages[index]);
    return isAsRead ? reading.history : this.begin(messages);
  }

  /** The messages of a step that has begun, as its provider is sent them. */
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
