/** Settings as users write them in place are taken by the AI SDK, with the types of their tools. */
import {
  generateText,
  type InferToolInput,
  type InferUITools,
  type LanguageModel,
  tool,
  ToolLoopAgent,
  type UIMessage,
} from "ai";
import { codeModeTool, createCodeModeTool, DIRECT_TOOL_CALL, withCodeModeApprovals } from "codecell/ai";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

declare const model: LanguageModel;

const search = tool({
  inputSchema: z.object({ text: z.string() }),
  outputSchema: z.object({ found: z.number() }),
  execute: async ({ text }) => ({ found: text.length }),
});
const tools = { code_mode: createCodeModeTool({ search }), search } as const;

test("code mode is a tool like others", () => {
  expectTypeOf<InferToolInput<typeof tools.code_mode>["js"]>().toEqualTypeOf<string>();
  type Part = UIMessage<never, never, InferUITools<typeof tools>>["parts"][number];
  expectTypeOf<Extract<Part, { type: "tool-code_mode"; state: "output-available" }>>().not.toBeNever();
});

test("names of tools and choices keep their types", async () => {
  const settings = withCodeModeApprovals({
    model,
    tools,
    activeTools: ["code_mode"],
    toolChoice: { type: "tool", toolName: "code_mode" },
    reasoning: "high",
    prepareStep: ({ stepNumber, steps, model: own }) => ({
      toolChoice: stepNumber < steps.length ? "none" : "auto",
      model: own,
    }),
  });
  const { toolResults } = await generateText({ ...settings, prompt: "Go" });
  for (const result of toolResults) {
    if (result.dynamic === true || result.toolName !== "search") continue;
    expectTypeOf(result.output).toEqualTypeOf<{ found: number }>();
  }
});

test("functions of toolApproval know the runtime context", async () => {
  const settings = withCodeModeApprovals({
    model,
    tools: { code_mode: codeModeTool(), search },
    experimental_toolCallers: { search: ["code_mode", DIRECT_TOOL_CALL] },
    runtimeContext: { user: "me" },
    toolApproval: ({ toolCall, runtimeContext }) =>
      runtimeContext.user === toolCall.toolName ? "denied" : "user-approval",
  });
  await generateText({ ...settings, prompt: "Go" });
});

test("agents take them too", () => {
  const agent = new ToolLoopAgent(withCodeModeApprovals({ model, tools, activeTools: ["search"] }));
  expectTypeOf(agent.tools).toHaveProperty("code_mode");
});
