/**
 * Code modes of the AI SDK: experimental-ai-sdk-code-mode, @ai-sdk/code-mode (which is built on `run`), and
 * codecell/ai.
 *
 * All use their direct runner (`runCodeMode`) without the model's tool around it, and the default policy. Tools are
 * AI SDK tools with a plain JSON Schema and no validator: the cheapest that the AI SDK has.
 */

import { randomBytes } from "node:crypto";
import {
  createTranslation,
  type AskingTools,
  type Contestant,
  type GuestInput,
  type GuestTools,
  type Load,
} from "./contestant.ts";
import { importPeer } from "./import-peer.ts";

interface ToolOptions {
  /** Set when the tool is called again with the resolution of its interrupt. */
  readonly codeModeInterrupt?: { readonly resolution: unknown };
}
type AiTool = { readonly opaque: unique symbol };
interface Ai {
  tool(definition: {
    description: string;
    inputSchema: unknown;
    execute: (input: GuestInput, options: ToolOptions) => unknown;
  }): AiTool;
  jsonSchema(schema: object): unknown;
}
interface CodeMode {
  runCodeMode(request: {
    js: string;
    tools: Record<string, AiTool>;
    options?: { executionPolicy: { timeoutMs: number } };
  }): Promise<unknown>;
  requestCodeModeInterrupt(payload: { readonly kind: string }): never;
  continueCodeModeInterrupt(request: {
    interrupt: unknown;
    resolution: number;
    tools: Record<string, AiTool>;
  }): Promise<unknown>;
  isCodeModeInterrupt(value: unknown): boolean;
  setCodeModeContinuationSigningKey(key: Uint8Array): void;
  setMaxWorkers(count: number | undefined): void;
}
type Identity = Pick<Contestant, "id" | "name" | "variant"> & Partial<Pick<Contestant, "kind">>;

function createCodeMode(
  identity: Identity,
  load: () => Promise<CodeMode>,
  workers: (load: Load) => number | undefined,
): Contestant {
  let ai: Ai;
  let library: CodeMode;
  const toAiTools = (
    tools: Readonly<Record<string, (input: GuestInput, options: ToolOptions) => unknown>>,
  ): Record<string, AiTool> =>
    Object.fromEntries(
      Object.entries(tools).map(([name, execute]) => {
        const inputSchema = ai.jsonSchema({ type: "object" });
        return [name, ai.tool({ description: `The tool ${name}`, inputSchema, execute })];
      }),
    );
  const aiTools = createTranslation((tools: GuestTools) => toAiTools(tools));
  const askingTools = createTranslation((tools: AskingTools) => {
    const ask = (): never => library.requestCodeModeInterrupt({ kind: "question" });
    const asking = Object.entries(tools).map(([name, execute]) => [
      name,
      (input: GuestInput, { codeModeInterrupt: answered }: ToolOptions) =>
        execute(input, { answer: answered === undefined ? undefined : Number(answered.resolution), ask }),
    ]);
    return toAiTools(Object.fromEntries(asking));
  });
  return {
    kind: "peer",
    ...identity,
    engine: "quickjs",
    sandbox: true,
    stopsLoops: true,
    open: async () => {
      [ai, library] = await Promise.all([importPeer<Ai>("ai"), load()]);
      library.setCodeModeContinuationSigningKey(randomBytes(32));
    },
    prepare: (about) => library.setMaxWorkers(workers(about)),
    run: (js, tools, options = {}) => {
      const policy =
        options.timeoutMs === undefined
          ? {}
          : { options: { executionPolicy: { timeoutMs: options.timeoutMs } } };
      return library.runCodeMode({ js, tools: aiTools(tools), ...policy });
    },
    suspend: async (js, asking) => {
      const tools = askingTools(asking);
      const result = await library.runCodeMode({ js, tools });
      if (!library.isCodeModeInterrupt(result)) throw new Error("Run is completed");
      // a user has to keep this whole object: its text corresponds to the tokens of the others
      const token = JSON.stringify(result);
      return {
        token,
        resume: (resolution) =>
          library.continueCodeModeInterrupt({ interrupt: JSON.parse(token), resolution, tools }),
      };
    },
    close: async () => {},
  };
}

const loadExperimental = () => importPeer<CodeMode>("experimental-ai-sdk-code-mode");

export function createExperimentalCodeMode(): Contestant {
  const identity = { id: "experimental-ai-sdk-code-mode", name: "experimental-ai-sdk-code-mode" };
  return createCodeMode(identity, loadExperimental, () => undefined);
}

/** A worker for each run in flight (`setMaxWorkers`), which its README offers against refusals. */
export function createExperimentalCodeModeWide(): Contestant {
  const identity = {
    id: "experimental-ai-sdk-code-mode:wide",
    name: "experimental-ai-sdk-code-mode, 64 workers",
    variant: { of: "experimental-ai-sdk-code-mode", workloads: ["throughput"] },
  };
  return createCodeMode(identity, loadExperimental, (load) => load.inFlight);
}

export function createAiSdkCodeMode(): Contestant {
  return createCodeMode({ id: "ai-sdk-code-mode", name: "@ai-sdk/code-mode" }, loadAiSdk, () => undefined);
}

/** Codecell, where the others have something comparable. */
export function createCodecellAi(): Contestant {
  const identity = {
    id: "codecell:ai",
    name: "Codecell, codecell/ai",
    kind: "self",
    variant: {
      of: "codecell",
      workloads: ["three-round-trips", "parallel-calls", "concurrent-runs", "payload", "suspension"],
    },
  } as const;
  return createCodeMode(identity, loadCodecellAi, () => undefined);
}

async function loadCodecellAi(): Promise<CodeMode> {
  const library: unknown = await import("codecell/ai");
  return library as CodeMode;
}

async function loadAiSdk(): Promise<CodeMode> {
  // the same names behind a prefix
  const library =
    await importPeer<{ [Name in keyof CodeMode as `experimental_${Name}`]: CodeMode[Name] }>(
      "@ai-sdk/code-mode",
    );
  return {
    runCodeMode: library.experimental_runCodeMode,
    requestCodeModeInterrupt: library.experimental_requestCodeModeInterrupt,
    continueCodeModeInterrupt: library.experimental_continueCodeModeInterrupt,
    isCodeModeInterrupt: library.experimental_isCodeModeInterrupt,
    setCodeModeContinuationSigningKey: library.experimental_setCodeModeContinuationSigningKey,
    setMaxWorkers: library.experimental_setMaxWorkers,
  };
}
