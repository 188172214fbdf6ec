/**
 * Code mode as a tool of the AI SDK.
 *
 * - What `execute` gives can be awaited, and can be iterated: then it tells of the program's calls while they run, and
 *   the last thing it gives is the output. The AI SDK does the latter.
 * - A tool tells what it was made of under a symbol, which survives being spread into another object.
 */
import { jsonSchema, type Tool, type ToolSet } from "ai";
import { type ApprovalFlow, FLOW, originalsOf } from "./approval-flow/flow.ts";
import { looksLikeInterrupt } from "./approval-flow/paused-program.ts";
import { toResumption } from "./approval-flow/resumption.ts";
import { describeTool, JS_DESCRIPTION } from "./describe-tool.ts";
import { CodeModeError } from "./errors.ts";
import { Execution } from "./execution.ts";
import type { CodeModeToolExecutionOptions } from "./interrupt.ts";
import { ModelOutput, toConsole } from "./model-output.ts";
import {
  assertOptions,
  checkTools,
  type CodeModeContinuationOptions,
  type CodeModeOptions,
  type CodeModeToolInput,
  type CodeModeToolSet,
} from "./options.ts";
import { isRecord } from "../../value/shape.ts";
import { Invocation } from "./invocation.ts";
import { toSetup } from "./run-code-mode.ts";

/** Ours comes first, so that its `execute` is the one that callers see. */
export type CodeModeTool = {
  description: string;
  execute: (input: CodeModeToolInput, options: CodeModeToolExecutionOptions) => Execution;
} & Tool<CodeModeToolInput, unknown>;

/** Code mode whose tools are those that `experimental_toolCallers` routes to it. */
export type CodeModeToolCaller = CodeModeTool & {
  readonly experimental_toolCaller: {
    readonly type: "local";
    readonly bind: (tools: ToolSet) => CodeModeTool;
  };
};

/** In `experimental_toolCallers`: the model may call the tool by itself too. */
export const DIRECT_TOOL_CALL = "AI_SDK_DIRECT_TOOL_CALL";

export function createCodeModeTool(tools: CodeModeToolSet, options: CodeModeOptions = {}): CodeModeTool {
  assertOptions(options);
  return toTool(tools, options, new ModelOutput(options.modelOutput), {
    tools,
    onLost: options.continuation?.onLost,
  });
}

/**
 * A tool caller of AI SDK 7: generateText, streamText and ToolLoopAgent give it, step by step, the tools that
 * `experimental_toolCallers` routes to it.
 */
export function codeModeTool(options: CodeModeOptions = {}): CodeModeToolCaller {
  assertOptions(options);
  // One for all steps: what a model is told of an execution is asked of the tool as it was before it was bound.
  const modelOutput = new ModelOutput(options.modelOutput);
  const parts: CodeModeParts = { tools: undefined, onLost: options.continuation?.onLost };
  const bind = (tools: ToolSet): CodeModeTool => toTool(originalsOf(tools), options, modelOutput, parts);
  return asToolCaller(bind({}), bind);
}

/** As the AI SDK marks tool callers; set by hand, since AI SDK 6 has no function for it. */
export function asToolCaller<T extends object>(
  tool: T,
  bind: (tools: ToolSet) => CodeModeTool,
): T & CodeModeToolCaller {
  const definition = { type: "local", bind } as const;
  return Object.defineProperty({ ...tool }, "experimental_toolCaller", { value: definition }) as T &
    CodeModeToolCaller;
}

const PARTS = Symbol.for("codecell.code-mode");

/** What a code mode tool was made of. */
export interface CodeModeParts {
  /** Undefined for a tool caller: its tools are bound to it. */
  readonly tools: CodeModeToolSet | undefined;
  readonly onLost: CodeModeContinuationOptions["onLost"];
}

/** Undefined for a tool that is not code mode. */
export function partsOf(tool: unknown): CodeModeParts | undefined {
  return (tool as { [PARTS]?: CodeModeParts } | undefined)?.[PARTS];
}

function toTool(
  tools: CodeModeToolSet,
  options: CodeModeOptions,
  modelOutput: ModelOutput,
  parts: CodeModeParts,
): CodeModeTool {
  checkTools(tools);
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
    execute: (
      input: CodeModeToolInput,
      { [FLOW]: flow, ...execution }: CodeModeToolExecutionOptions & { [FLOW]?: ApprovalFlow },
    ): Execution =>
      new Execution(async (onProgress) => {
        if (!isRecord(input))
          throw new TypeError("Cannot run code mode: its input must be an object with js");
        const account = modelOutput.open(input, tools);
        const lifecycle = modelOutput.watch(options.lifecycle, account);
        const given = {
          tools,
          options: {
            ...options,
            ...(lifecycle === undefined ? {} : { lifecycle }),
            ...(flow === undefined ? {} : { approval: flow.approvalFor(options.approval) }),
          },
          toolExecutionOptions: execution,
        };
        const resumed = flow === undefined ? undefined : input.resume;
        const setting =
          flow !== undefined && typeof resumed === "string"
            ? toResumption(resumed, flow, given)
            : toSetup({ ...given, js: input.js });
        const setup = setting instanceof Promise ? await setting : setting;
        const invocation = new Invocation({ ...setup, onProgress: () => onProgress(invocation.calls) });
        try {
          const value = await invocation.run();
          account.isInterrupted = invocation.isInterrupted;
          // Messages tell of the programs that wait: what a program returns does not pass for one of them.
          const isForged = !invocation.isInterrupted && looksLikeInterrupt(value);
          return flow !== undefined && isForged ? { result: value } : value;
        } catch (error) {
          if (typeof resumed === "string") flow?.refused(resumed, error);
          throw withConsole(error, invocation);
        } finally {
          account.logs = invocation.logs;
          account.logsDropped = invocation.logsDropped;
        }
      }),
    [PARTS]: parts,
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
