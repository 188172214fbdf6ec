/**
 * Codecell itself: one host with default workers and limits; TypeScript, as every peer accepts it.
 */

import { createTranslation, type Contestant, type GuestInput } from "./contestant.ts";

interface Tool {
  readonly description: string;
  readonly input: object;
  readonly execute: (input: GuestInput) => unknown;
}
type RunResult =
  | { readonly status: "completed"; readonly value: unknown }
  | { readonly status: "failed"; readonly failure: { readonly code: string; readonly message: string } }
  | { readonly status: "suspended" };
interface Host extends AsyncDisposable {
  start(request: {
    source: string;
    language: Language;
    tools: Readonly<Record<string, Tool>>;
    limits?: { wallTimeMs: number };
  }): { readonly result: Promise<RunResult> };
}
interface Codecell {
  createHost(options?: object): Host;
}
type Language = "typescript" | "javascript";

const LIBRARY: string = "codecell";

function createCodecellFor(
  language: Language,
  identity: Pick<Contestant, "id" | "name" | "variant">,
): Contestant {
  let host: Host;
  const ownTools = createTranslation((tools) =>
    Object.fromEntries(
      Object.entries(tools).map(([name, execute]): [string, Tool] => [
        name,
        { description: `The tool ${name}`, input: { type: "object" }, execute },
      ]),
    ),
  );
  return {
    ...identity,
    kind: "self",
    engine: "quickjs",
    sandbox: true,
    stopsLoops: true,
    open: async () => {
      const library: Codecell = await import(LIBRARY);
      host = library.createHost();
    },
    run: async (source, tools, options = {}) => {
      const limits = options.timeoutMs === undefined ? {} : { limits: { wallTimeMs: options.timeoutMs } };
      const { result } = host.start({ source, language, tools: ownTools(tools), ...limits });
      const ended = await result;
      switch (ended.status) {
        case "completed":
          return ended.value;
        case "failed":
          throw new Error(`${ended.failure.code}: ${ended.failure.message}`);
        case "suspended":
          throw new Error("Run is suspended");
        default:
          return ended satisfies never;
      }
    },
    close: async () => {
      await host[Symbol.asyncDispose]();
    },
  };
}

export function createCodecell(): Contestant {
  return createCodecellFor("typescript", { id: "codecell", name: "Codecell" });
}

export function createCodecellJavaScript(): Contestant {
  return createCodecellFor("javascript", {
    id: "codecell:javascript",
    name: "Codecell, source is JavaScript",
    variant: { of: "codecell", workloads: ["three-round-trips", "throughput"] },
  });
}
