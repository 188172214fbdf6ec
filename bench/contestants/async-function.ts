/**
 * Floor: the source as a bare AsyncFunction in the host's own realm. No sandbox of any kind.
 */

import type { Contestant, GuestTools } from "./contestant.ts";

type Script = (tools: GuestTools) => Promise<unknown>;
const AsyncFunction: new (parameter: string, body: string) => Script = Object.getPrototypeOf(
  async () => {},
).constructor;

export function createAsyncFunction(): Contestant {
  return {
    id: "async-function",
    name: "bare AsyncFunction",
    kind: "floor",
    engine: "v8",
    sandbox: false,
    stopsLoops: false,
    open: async () => {},
    run: (source, tools) => new AsyncFunction("tools", source)(tools),
    close: async () => {},
  };
}
