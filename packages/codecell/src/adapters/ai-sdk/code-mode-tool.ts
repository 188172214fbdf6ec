/**
 * Code mode as a tool of the AI SDK.
 *
 * - What `execute` gives can be awaited, and can be iterated: then it tells of the program's calls while they run, and
 *   the last thing it gives is the output. The AI SDK does the latter.
 */
import { jsonSchema, type Tool } from "ai";
import { describeTool, JS_DESCRIPTION } from "./describe-tool.ts";
import { CodeModeError } from "./errors.ts";
import { Execution } from "./execution.ts";
import type { CodeModeToolExecutionOptions } from "./interrupt.ts";
import { ModelOutput, toConsole } from "./model-output.ts";
import type { CodeModeOptions, CodeModeToolInput, CodeModeToolSet } from "./options.ts";
import { Invocation } from "./invocation.ts";
import { toSetup } from "./run-code-mode.ts";

/** Ours comes first, so that its `execute` is the one that callers see. */
export type CodeModeTool = {
  description: string;
  execute: (input: CodeModeToolInput, options: CodeModeToolExecutionOptions) => Execution;
} & Tool<CodeModeToolInput, unknown>;

export function createCodeModeTool(tools: CodeModeToolSet, options: CodeModeOptions = {}): CodeModeTool {
  const modelOutput = new ModelOutput(options.modelOutput, tools);
  const made = {
    description: describeTool(tools, options),
    inputSchema: jsonSchema<CodeModeToolInput>({
      type: "object",
      properties: { js: { type: "string", description: JS_DESCRIPTION } },
      required: ["js"],
      additionalProperties: false,
    }),
    toModelOutput: (given: { readonly input: unknown; readonly output: unknown }) =>
      modelOutput.toModelOutput(given),
    execute: (input: CodeModeToolInput, execution: CodeModeToolExecutionOptions): Execution =>
      new Execution(async (onProgress) => {
        const account = modelOutput.open(input);
        const lifecycle = modelOutput.watch(options.lifecycle, account);
        const setup = toSetup({
          js: input.js,
          tools,
          options: lifecycle === undefined ? options : { ...options, lifecycle },
          toolExecutionOptions: execution,
        });
        const invocation = new Invocation({ ...setup, onProgress: () => onProgress(invocation.calls) });
        try {
          return await invocation.run();
        } catch (error) {
          throw withConsole(error, invocation);
        } finally {
          account.logs = invocation.logs;
          account.logsDropped = invocation.logsDropped;
        }
      }),
  };
  return made;
}

/** A model learns of a failure by its message, and of what the program printed before by nothing else. */
function withConsole(error: unknown, invocation: Invocation): unknown {
  const lines = toConsole(invocation);
  if (!(error instanceof CodeModeError) || lines.length === 0) return error;
  error.message += `\nThe program had printed:\n${lines.join("\n")}`;
  return error;
}
