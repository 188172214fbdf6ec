/** A model whose turns are written down: what it says and calls, given what its last call came to. */
import { MockLanguageModelV4 } from "ai/test";
import type { CodeModeResult } from "codecell/surface";

type Generated = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>;
type Prompt = Parameters<MockLanguageModelV4["doGenerate"]>[0]["prompt"];

export type Move = { readonly call: string; readonly input: object } | { readonly say: string };
/** Gets what the last call answered. */
export type Script = readonly ((last: CodeModeResult) => Move)[];

const USAGE: Generated["usage"] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

export function scriptedModel(script: Script): MockLanguageModelV4 {
  let moves = 0;
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }): Promise<Generated> => {
      const next = script[moves++];
      if (next === undefined) throw new Error("The script is over, and the model is asked again");
      const move = next(lastResult(prompt));
      if ("say" in move) {
        const content: Generated["content"] = [{ type: "text", text: move.say }];
        return { content, finishReason: { unified: "stop", raw: undefined }, usage: USAGE, warnings: [] };
      }
      const { call, input } = move;
      const content: Generated["content"] = [
        { type: "tool-call", toolCallId: `call_${moves}`, toolName: call, input: JSON.stringify(input) },
      ];
      return { content, finishReason: { unified: "tool-calls", raw: undefined }, usage: USAGE, warnings: [] };
    },
  });
}

/** Nothing before the first call. */
function lastResult(prompt: Prompt): CodeModeResult {
  const last = prompt.findLast(({ role }) => role === "tool");
  const part = last?.role === "tool" ? last.content.at(-1) : undefined;
  const output = part?.type === "tool-result" ? part.output : undefined;
  const value: unknown = output?.type === "json" ? output.value : {};
  return value as CodeModeResult;
}
