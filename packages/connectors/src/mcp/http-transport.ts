/**
 * Runs on the host. HttpTransport: the client's Streamable HTTP, with an end for every request.
 *
 * - A request whose stream ends without an answer fails at once. The client would wait for its time-out.
 * - A request that is cancelled also leaves its connection, whether or not the server heeds the notice.
 */
import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { type AnswerId, faultAnswer } from "./faults.ts";

type SendOptions = NonNullable<Parameters<StreamableHTTPClientTransport["send"]>[1]>;

export class HttpTransport extends StreamableHTTPClientTransport {
  readonly #open = new Map<AnswerId, AbortController>();

  override async send(message: JSONRPCMessage | JSONRPCMessage[], options: SendOptions = {}): Promise<void> {
    if (Array.isArray(message)) return super.send(message, options);
    if (!isJSONRPCRequest(message)) {
      await super.send(message, options).finally(() => this.#leave(message));
      return undefined;
    }
    const { id } = message;
    const controller = new AbortController();
    this.#open.set(id, controller);
    const { requestSignal = controller.signal, onRequestStreamEnd } = options;
    await super.send(message, {
      ...options,
      requestSignal: AbortSignal.any([requestSignal, controller.signal]),
      onRequestStreamEnd: () => {
        this.#open.delete(id);
        onRequestStreamEnd?.();
        // Nobody waits for this if there was an answer.
        this.onmessage?.(faultAnswer(id, "ended"));
      },
    });
    return undefined;
  }

  /** A message has come, an answer or another. */
  settled(message: JSONRPCMessage): void {
    if (!("method" in message) && message.id !== undefined) this.#open.delete(message.id);
  }

  /** Of a cancelled request. */
  #leave(message: JSONRPCMessage): void {
    if (!("method" in message) || message.method !== "notifications/cancelled") return;
    const { requestId } = message.params as { readonly requestId?: AnswerId };
    if (requestId === undefined) return;
    this.#open.get(requestId)?.abort();
    this.#open.delete(requestId);
  }
}
