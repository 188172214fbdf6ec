/**
 * Codecell itself: one host with default workers and limits; TypeScript, as every peer accepts it.
 */

import type { AnyTool, Host, Language } from "codecell";
import { createTranslation, type Contestant } from "./contestant.ts";

function createCodecellFor(
  language: Language,
  identity: Pick<Contestant, "id" | "name" | "variant">,
): Contestant {
  let host: Host;
  const ownTools = createTranslation((tools) =>
    Object.fromEntries(
      Object.entries(tools).map(([name, execute]): [string, AnyTool] => [
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
      const { createHost } = await import("codecell");
      host = createHost();
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
