/** A model whose turns are written down, in the specification of whichever AI SDK the tests run with. */
import * as ai from "ai";
import type { LanguageModel } from "ai";

type Model = Exclude<LanguageModel, string> & { specificationVersion: "v4" };
type Request = Parameters<Model["doGenerate"]>[0];
type Generated = Awaited<ReturnType<Model["doGenerate"]>>;
type Part = Generated["content"][number];

export const IS_AI_6: boolean = !("experimental_toolCaller" in ai);

export interface Call {
  readonly id?: string;
  readonly call: string;
  readonly input: unknown;
}

export type Move = { readonly say: string } | Call | readonly Call[];

export interface ScriptedModel {
  readonly model: LanguageModel;
  /** What the provider was sent. */
  readonly requests: readonly Request[];
  /** What the provider was sent as a whole, to look for what must not be there. */
  readonly sent: () => string;
  readonly isOver: () => boolean;
}

const USAGE: Generated["usage"] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

export function scriptedModel(moves: readonly Move[]): ScriptedModel {
  const requests: Request[] = [];
  const next = (request: Request): Generated => {
    const move = moves[requests.length];
    requests.push(request);
    if (move === undefined) throw new Error("The script is over, and the model is asked again");
    const content = toContent(move, requests.length);
    const unified = "say" in move ? "stop" : "tool-calls";
    return { content, finishReason: { unified, raw: undefined }, usage: USAGE, warnings: [] };
  };
  const model = {
    specificationVersion: IS_AI_6 ? "v3" : "v4",
    provider: "scripted",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: async (request: Request) => next(request),
    doStream: async (request: Request) => ({ stream: toStream(next(request)) }),
  } as unknown as LanguageModel;
  const sent = (): string => JSON.stringify(requests.map(({ prompt, tools }) => ({ prompt, tools })));
  return { model, requests, sent, isOver: () => requests.length === moves.length };
}

function toContent(move: Move, turn: number): Part[] {
  if ("say" in move) return [{ type: "text", text: move.say }];
  const calls = "call" in move ? [move] : move;
  return calls.map(({ id, call, input }, index) => ({
    type: "tool-call",
    toolCallId: id ?? `call-${turn}${index === 0 ? "" : `-${index}`}`,
    toolName: call,
    input: JSON.stringify(input),
  }));
}

function toStream({ content, finishReason, usage }: Generated): ReadableStream {
  return ReadableStream.from([
    { type: "stream-start", warnings: [] },
    ...content.flatMap((part): object[] =>
      part.type === "text"
        ? [
            { type: "text-start", id: "1" },
            { type: "text-delta", id: "1", delta: part.text },
            { type: "text-end", id: "1" },
          ]
        : [part],
    ),
    { type: "finish", finishReason, usage },
  ]);
}
