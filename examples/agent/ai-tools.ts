/** What a model may see of an agent run, as the AI SDK wants it. */
import { jsonSchema, type LanguageModelMiddleware, tool, type ToolSet } from "ai";
import { inputSchemaOf } from "codecell/declare";
import type { PreparedAgentRun, VisibleTool } from "codecell/surface";

/** The context is handed to tools that the model calls by itself. */
export function toAiTools(visible: readonly VisibleTool[], context?: unknown): ToolSet {
  return Object.fromEntries(visible.map((one) => [one.name, toAiTool(one.tool, context)]));
}

function toAiTool(own: VisibleTool["tool"], context: unknown): ToolSet[string] {
  const schema = inputSchemaOf(own);
  return tool({
    description: own.description ?? "",
    inputSchema: jsonSchema(typeof schema === "boolean" ? {} : schema),
    // The ids that the provider gave come back in the trajectory; whoever aborts the agent aborts the program.
    execute: async (input, { toolCallId, abortSignal = new AbortController().signal }) =>
      own.execute(input, {
        runId: toolCallId,
        callId: toolCallId,
        idempotencyKey: toolCallId,
        signal: abortSignal,
        context,
        resolution: undefined,
        suspend: () => {
          throw new Error("A tool that the model calls by itself cannot ask for a decision");
        },
      }),
  });
}

/** The last look at every request: whatever was added on the way is left out, and nothing may be missing. */
export function checkingPayload(run: PreparedAgentRun): LanguageModelMiddleware {
  return {
    transformParams: async ({ params }) => ({ ...params, tools: [...run.assertPayload(params.tools ?? [])] }),
  };
}
