/** Question: what one execution of a tool asked for. A tool that has asked is suspended, whatever it does afterwards. */
import type { CallContext } from "../contract/tool.ts";
import type { Json } from "../contract/value.ts";

/** Thrown by `call.suspend`, to end the tool. Whether it was called is not known by it: a tool may catch it. */
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
    // The tool was to end here: what it asks after that is nobody's question.
    this.#asked ??= { payload };
    throw new CallSuspended();
  };

  /** Throws where the tool is not to be called any more: something was asked for, or the call has ended. */
  assertOpen(): void {
    if (this.#asked !== undefined) throw new CallSuspended();
    if (this.#isOver) throw new Error("Cannot call the tool: the call has ended, await what calls it");
  }

  /** What was asked for, if anything was; nothing can be from here on. */
  end(): { readonly payload: Json } | undefined {
    this.#isOver = true;
    return this.#asked;
  }
}
