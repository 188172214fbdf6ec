/**
 * Runs on the host. ListBounds: ends the reading of a list that has too many items, while its pages come in.
 */
import {
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
} from "@modelcontextprotocol/client";

/** The names of the fields in which servers send their lists. */
export type ListName = "tools" | "resources" | "resourceTemplates" | "prompts";

/** More than any server offers to people or models. */
const MAX_LIST_ITEMS = 20_000;

export class ListBounds {
  readonly #left = new Map<string, { items: number; readonly end: AbortController }>();

  async within<T>(name: ListName, signal: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const end = new AbortController();
    this.#left.set(name, { items: MAX_LIST_ITEMS, end });
    try {
      return await ask(AbortSignal.any([signal, end.signal]));
    } catch (error) {
      throw end.signal.aborted ? end.signal.reason : error;
    }
  }

  /** Every message of the server. */
  see(message: JSONRPCMessage): void {
    if (!isJSONRPCResultResponse(message)) return;
    for (const [name, left] of this.#left) {
      const items: unknown = message.result[name];
      if (!Array.isArray(items)) continue;
      left.items -= items.length;
      if (left.items < 0)
        left.end.abort(new SdkError(SdkErrorCode.ListPaginationExceeded, "The list has too many items"));
    }
  }
}
