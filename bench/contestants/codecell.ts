/**
 * Codecell itself: one host with default workers and limits; TypeScript, as every peer accepts it.
 */

import type { AnyTool, Host, Language, RunResult } from "codecell";
import { createTranslation, type AskingTools, type Contestant, type GuestTools } from "./contestant.ts";

function createCodecellFor(
  language: Language,
  identity: Pick<Contestant, "id" | "name" | "variant">,
): Contestant {
  let host: Host;
  const ownTools = createTranslation((tools: GuestTools) =>
    Object.fromEntries(
      Object.entries(tools).map(([name, execute]): [string, AnyTool] => [
        name,
        { description: `The tool ${name}`, input: { type: "object" }, execute },
      ]),
    ),
  );
  const askingTools = createTranslation(toAskingTools);
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
      return valueOf(await result);
    },
    suspend: async (source, asking) => {
      const tools = askingTools(asking);
      const ended = await host.start({ source, language, tools }).result;
      if (ended.status !== "suspended") throw new Error(`Run is ${ended.status}`);
      const { token, pending } = ended.suspension;
      const resume = async (answer: number): Promise<unknown> => {
        const resolutions = Object.fromEntries(pending.map(({ callId }) => [callId, { resolution: answer }]));
        return valueOf(await host.resume({ token, resolutions, tools }).result);
      };
      return { token, resume };
    },
    close: async () => {
      await host[Symbol.asyncDispose]();
    },
  };
}

export function toAskingTools(tools: AskingTools): Record<string, AnyTool> {
  return Object.fromEntries(
    Object.entries(tools).map(([name, execute]): [string, AnyTool] => [
      name,
      {
        description: `The tool ${name}`,
        input: { type: "object" },
        execute: (input, call) =>
          execute(input, {
            answer: call.resolution === undefined ? undefined : Number(call.resolution),
            ask: () => call.suspend({ question: "Go on?" }),
          }),
      },
    ]),
  );
}

export function valueOf(ended: RunResult): unknown {
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
