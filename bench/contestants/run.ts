/**
 * `run` as its README shows it: one runner, host functions under the global `tools`, default limits.
 *
 * It refuses runs beyond its workers (at most 32 by default) instead of queueing them.
 */

import { randomBytes } from "node:crypto";
import {
  createTranslation,
  type AskingTools,
  type Contestant,
  type GuestInput,
  type GuestTools,
} from "./contestant.ts";
import { importPeer } from "./import-peer.ts";

type RunResult =
  | { readonly status: "completed"; readonly value: unknown }
  | {
      readonly status: "interrupted";
      readonly continuation: string;
      readonly interruptions: readonly { readonly id: string }[];
    };
interface RunRequest {
  readonly source: string;
  readonly hostFunctions: { readonly tools: GuestTools };
  readonly limits?: { readonly timeoutMs: number };
  readonly continuation?: string;
  readonly resolutions?: readonly { readonly interruptionId: string; readonly value: number }[];
}
interface Runner {
  run(request: RunRequest): Promise<RunResult>;
}
interface RunModule {
  createRunner(options: { readonly continuationSecret?: Uint8Array }): Runner;
  getHostFunctionContext(): {
    interrupt(payload: object): never;
    readonly resume?: { readonly resolution: unknown };
  };
  setMaxWorkers(count: number | undefined): void;
}

const SECRET_BYTES = 32;

export function createRun(): Contestant {
  let library: RunModule;
  let runner: Runner;
  let suspender: Runner;
  const hostFunctions = createTranslation((tools: GuestTools) => ({ tools }));
  const askingFunctions = createTranslation((asking: AskingTools) => ({
    tools: Object.fromEntries(
      Object.entries(asking).map(([name, execute]) => [
        name,
        (input: GuestInput) => {
          const context = library.getHostFunctionContext();
          const answer = context.resume === undefined ? undefined : Number(context.resume.resolution);
          return execute(input, { answer, ask: () => context.interrupt({ question: "Go on?" }) });
        },
      ]),
    ),
  }));
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
      suspender = library.createRunner({ continuationSecret: randomBytes(SECRET_BYTES) });
    },
    prepare: () => library.setMaxWorkers(undefined),
    run: async (source, tools, options = {}) => {
      const limits = options.timeoutMs === undefined ? {} : { limits: { timeoutMs: options.timeoutMs } };
      const result = await runner.run({ source, hostFunctions: hostFunctions(tools), ...limits });
      return valueOf(result);
    },
    suspend: async (source, asking) => {
      const request = { source, hostFunctions: askingFunctions(asking) };
      const result = await suspender.run(request);
      if (result.status !== "interrupted") throw new Error(`Run is ${result.status}`);
      const { continuation, interruptions } = result;
      const resume = async (answer: number): Promise<unknown> => {
        const resolutions = interruptions.map(({ id }) => ({ interruptionId: id, value: answer }));
        return valueOf(await suspender.run({ ...request, continuation, resolutions }));
      };
      return { token: continuation, resume };
    },
    close: async () => {},
  };
}

function valueOf(result: RunResult): unknown {
  if (result.status !== "completed") throw new Error(`Run is ${result.status}`);
  return result.value;
}
