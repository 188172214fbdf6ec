/** The quick start of codecell/ai, to be bundled; a model whose turns are written down stands for a provider. */
import { generateText, type LanguageModel, stepCountIs, tool } from "ai";
import { createCodeModeTool } from "codecell/ai";
import { z } from "zod";

const search = tool({
  description: "Search indexed documents.",
  inputSchema: z.object({ query: z.string(), limit: z.number().int().optional() }),
  outputSchema: z.object({ results: z.array(z.object({ id: z.string(), title: z.string() })) }),
  execute: async ({ query }) => ({ results: [{ id: "1", title: `Notes on ${query}` }] }),
});

const JS = `const { results } = await tools.search({ query: "QuickJS" });
return results.map(({ title }: { title: string }) => title);`;

let turns = 0;
const model: LanguageModel = {
  specificationVersion: "v4",
  provider: "none",
  modelId: "scripted",
  supportedUrls: {},
  doStream: () => Promise.reject(new Error("Nobody streams")),
  doGenerate: async ({ prompt }) => {
    const isFirst = turns++ === 0;
    const input = JSON.stringify({ js: JS });
    return {
      content: isFirst
        ? [{ type: "tool-call", toolCallId: "call_1", toolName: "codeMode", input }]
        : [{ type: "text", text: JSON.stringify(prompt.at(-1)?.content) }],
      finishReason: { unified: isFirst ? "tool-calls" : "stop", raw: undefined },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
      warnings: [],
    };
  },
};

const codeMode = createCodeModeTool({ search }, { executionPolicy: { timeoutMs: 30_000 } });

async function main(): Promise<void> {
  const { text, steps } = await generateText({
    model,
    tools: { codeMode },
    stopWhen: stepCountIs(3),
    prompt: "Search for the latest internal QuickJS notes and summarize them.",
  });
  const [result] = JSON.parse(text) as { output: unknown }[];
  console.log(JSON.stringify([steps.length, result?.output]));
}

void main();
