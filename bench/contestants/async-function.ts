/**
 * Floor: the source as a bare AsyncFunction in the host's own realm. No sandbox of any kind.
 */

import type { Contestant, GuestTools } from "./contestant.ts";

type Script = (tools: GuestTools) => Promise<unknown>;
const AsyncFunction = (async () => {}).constructor as new (parameter: string, body: string) => Script;

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
