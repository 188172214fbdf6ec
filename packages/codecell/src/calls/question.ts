/**
 * Runs on the host. Question: what one execution of a tool asked for. If a tool has asked, its call is suspended,
 * whatever the tool does afterwards.
 */
import type { CallContext } from "../contract/tool.ts";
import type { Json } from "../contract/value.ts";

/**
 * Thrown by `call.suspend` to end the tool. A tool may catch it, so it is no evidence of whether `suspend` was called.
 */
export class CallSuspended extends Error {
  override readonly name = "CallSuspended";

  constructor() {
    super("The call is suspended until it is resolved: do not catch this, rethrow it");
  }
}

export class Question {
  #asked: { readonly payload: Json } | undefined;
  #isOver = false;

  get isAsked(): boolean {
    return this.#asked !== undefined;
  }

  readonly suspend: CallContext["suspend"] = (payload) => {
    if (this.#isOver) {
      throw new Error(
        "Cannot suspend the run: the call has ended, await what may call suspend before returning",
      );
    }
    // The tool should have ended here. Whatever it asks after that is ignored.
    this.#asked ??= { payload };
    throw new CallSuspended();
  };

  /** Throws if the tool must not be called any more: it asked for something, or the call has ended. */
  assertOpen(): void {
    if (this.#asked !== undefined) throw new CallSuspended();
    if (this.#isOver) throw new Error("Cannot call the tool: the call has ended, await what calls it");
  }

  /** What the tool asked for, if anything. From here on it cannot ask. */
  end(): { readonly payload: Json } | undefined {
    this.#isOver = true;
    return this.#asked;
  }
}
