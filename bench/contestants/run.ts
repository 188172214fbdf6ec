/**
 * `run` as its README shows it: one runner, host functions under the global `tools`, default limits.
 *
 * It refuses what exceeds its workers (at most 32 by default) instead of queueing it.
 */

import { createTranslation, type Contestant, type GuestTools } from "./contestant.ts";
import { importPeer } from "./import-peer.ts";

type RunResult =
  | { readonly status: "completed"; readonly value: unknown }
  | { readonly status: "interrupted" };
interface RunModule {
  createRunner(options: object): {
    run(request: {
      source: string;
      hostFunctions: { tools: GuestTools };
      limits?: { timeoutMs: number };
    }): Promise<RunResult>;
  };
  setMaxWorkers(count: number | undefined): void;
}

export function createRun(): Contestant {
  let library: RunModule;
  let runner: ReturnType<RunModule["createRunner"]>;
  const hostFunctions = createTranslation((tools) => ({ tools }));
  return {
    id: "run",
    name: "run",
    kind: "peer",
    engine: "quickjs",
    sandbox: true,
    stopsLoops: true,
    open: async () => {
      library = await importPeer<RunModule>("run");
      runner = library.createRunner({});
    },
    prepare: () => library.setMaxWorkers(undefined),
    run: async (source, tools, options = {}) => {
      const limits = options.timeoutMs === undefined ? {} : { limits: { timeoutMs: options.timeoutMs } };
      const result = await runner.run({ source, hostFunctions: hostFunctions(tools), ...limits });
      if (result.status !== "completed") throw new Error(`Run is ${result.status}`);
      return result.value;
    },
    close: async () => {},
  };
}
