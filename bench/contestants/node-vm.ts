/**
 * Floor: a fresh node:vm context per run on the host's thread. Not a security boundary, as Node's manual says.
 */

import { createContext, runInContext } from "node:vm";
import type { Contestant } from "./contestant.ts";

export function createNodeVm(): Contestant {
  return {
    id: "node-vm",
    name: "node:vm, fresh context",
    kind: "floor",
    engine: "v8",
    sandbox: false,
    stopsLoops: true,
    open: async () => {},
    run: async (source, tools, options = {}) => {
      const context = createContext({ tools });
      const timeout = options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs };
      const value: unknown = await runInContext(`(async () => {\n${source}\n})()`, context, timeout);
      return value;
    },
    close: async () => {},
  };
}
