/**
 * The two AI SDK code modes: experimental-ai-sdk-code-mode, and @ai-sdk/code-mode which is built on `run`.
 *
 * Both through their direct runner (`runCodeMode`), without the model's tool around it, default policy. Tools are
 * AI SDK tools whose schema is a plain JSON Schema without a validator: the cheapest the AI SDK has.
 */

import { createTranslation, type Contestant, type GuestInput, type Load } from "./contestant.ts";
import { importPeer } from "./import-peer.ts";

type AiTool = { readonly opaque: unique symbol };
interface Ai {
  tool(definition: {
    description: string;
    inputSchema: unknown;
    execute: (input: GuestInput) => unknown;
  }): AiTool;
  jsonSchema(schema: object): unknown;
}
interface CodeMode {
  runCodeMode(request: {
    js: string;
    tools: Record<string, AiTool>;
    options?: { executionPolicy: { timeoutMs: number } };
  }): Promise<unknown>;
  setMaxWorkers(count: number | undefined): void;
}
type Identity = Pick<Contestant, "id" | "name" | "variant">;

function createCodeMode(
  identity: Identity,
  load: () => Promise<CodeMode>,
  workers: (load: Load) => number | undefined,
): Contestant {
  let ai: Ai;
  let library: CodeMode;
  const aiTools = createTranslation((tools) =>
    Object.fromEntries(
      Object.entries(tools).map(([name, execute]) => {
        const inputSchema = ai.jsonSchema({ type: "object" });
        return [name, ai.tool({ description: `The tool ${name}`, inputSchema, execute })];
      }),
    ),
  );
  return {
    ...identity,
    kind: "peer",
    engine: "quickjs",
    sandbox: true,
    stopsLoops: true,
    open: async () => {
      [ai, library] = await Promise.all([importPeer<Ai>("ai"), load()]);
    },
    prepare: (about) => library.setMaxWorkers(workers(about)),
    run: (js, tools, options = {}) => {
      const policy =
        options.timeoutMs === undefined
          ? {}
          : { options: { executionPolicy: { timeoutMs: options.timeoutMs } } };
      return library.runCodeMode({ js, tools: aiTools(tools), ...policy });
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

async function loadAiSdk(): Promise<CodeMode> {
  const library = await importPeer<{
    experimental_runCodeMode: CodeMode["runCodeMode"];
    experimental_setMaxWorkers: CodeMode["setMaxWorkers"];
  }>("@ai-sdk/code-mode");
  return {
    runCodeMode: library.experimental_runCodeMode,
    setMaxWorkers: library.experimental_setMaxWorkers,
  };
}
