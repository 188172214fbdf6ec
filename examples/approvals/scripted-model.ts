/** What a model would do: write a program, and say what came of it. A real one goes here. */
import { MockLanguageModelV4 } from "ai/test";

type Streamed = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>;
type Part = Streamed["stream"] extends ReadableStream<infer P> ? P : never;

const PROGRAM = `\
const drafts = (await tools.listFiles({})).filter((name) => name.startsWith("draft"));
const ended = await Promise.allSettled(drafts.map((name) => tools.deleteFile({ name })));
const named = (status) => drafts.filter((_, index) => ended[index].status === status);
return { deleted: named("fulfilled"), kept: named("rejected") };`;

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

export const model: MockLanguageModelV4 = new MockLanguageModelV4({
  doStream: async ({ prompt }) => {
    const [part] = prompt.findLast(({ role }) => role === "tool")?.content ?? [];
    const output = typeof part === "object" && part.type === "tool-result" ? part.output : undefined;
    return {
      stream: new ReadableStream<Part>({
        start: (controller) => {
          const parts = output?.type === "json" ? say(output.value as never) : call();
          for (const one of parts) controller.enqueue(one);
          controller.close();
        },
      }),
    };
  },
});

function call(): Part[] {
  const input = JSON.stringify({ js: PROGRAM });
  return [
    { type: "tool-call", toolCallId: "call_1", toolName: "code_mode", input },
    { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage: USAGE },
  ];
}

function say({ deleted, kept }: { readonly deleted: string[]; readonly kept: string[] }): Part[] {
  const delta = `I deleted ${deleted.join(", ")} and kept ${kept.join(", ")}.`;
  return [
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta },
    { type: "text-end", id: "1" },
    { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage: USAGE },
  ];
}
