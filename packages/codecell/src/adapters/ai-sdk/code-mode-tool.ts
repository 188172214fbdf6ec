/**
 * Runs on the host. Code mode as a tool of the AI SDK.
 *
 * - The result of `execute` can be awaited or iterated. Iterated, it tells of the program's calls while they run, and
 *   gives the output last. The AI SDK iterates.
 * - A tool holds its parts under a symbol, which survives spreading the tool into another object.
 */
import { jsonSchema, type Tool, type ToolSet } from "ai";
import { type ApprovalFlow, FLOW, originalsOf } from "./approval-flow/flow.ts";
import { looksLikeInterrupt } from "./approval-flow/paused-program.ts";
import { toResumption } from "./approval-flow/resumption.ts";
import { assertApprovalNames } from "./approval-status.ts";
import { describeTool, JS_DESCRIPTION } from "./describe-tool.ts";
import { CodeModeError } from "./errors.ts";
import { Execution } from "./execution.ts";
import type { CodeModeToolExecutionOptions } from "./interrupt.ts";
import { ModelOutput, toConsole } from "./model-output.ts";
import {
  assertCodeModeOptions,
  checkTools,
  type CodeModeContinuationOptions,
  type CodeModeOptions,
  type CodeModeToolInput,
  type CodeModeToolSet,
} from "./options.ts";
import { isRecord } from "../../value/shape.ts";
import { Invocation } from "./invocation.ts";
import { toSetup } from "./run-code-mode.ts";

/** Our own type comes first, so that callers see its `execute`. */
export type CodeModeTool = {
  description: string;
  execute: (input: CodeModeToolInput, options: CodeModeToolExecutionOptions) => Execution;
} & Tool<CodeModeToolInput, unknown>;

/** Code mode with the tools that `experimental_toolCallers` routes to it. */
export type CodeModeToolCaller = CodeModeTool & {
  readonly experimental_toolCaller: {
    readonly type: "local";
    readonly bind: (tools: ToolSet) => CodeModeTool;
  };
};

/** In `experimental_toolCallers`: the model may also call the tool by itself. */
export const DIRECT_TOOL_CALL = "AI_SDK_DIRECT_TOOL_CALL";

export function createCodeModeTool(tools: CodeModeToolSet, options: CodeModeOptions = {}): CodeModeTool {
  assertCodeModeOptions(options);
  const made = toTool(tools, options, new ModelOutput(options.modelOutput), {
    tools,
    onLost: options.continuation?.onLost,
  });
  assertApprovalNames(options.approval?.toolApproval, tools);
  return made;
}

/**
 * A tool caller of AI SDK 7: generateText, streamText and ToolLoopAgent give it, step by step, the tools that
 * `experimental_toolCallers` routes to it.
 */
export function codeModeTool(options: CodeModeOptions = {}): CodeModeToolCaller {
  assertCodeModeOptions(options);
  // All steps share it: the AI SDK asks the unbound tool what a model learns of an execution.
  const modelOutput = new ModelOutput(options.modelOutput);
  const parts: CodeModeParts = { tools: undefined, onLost: options.continuation?.onLost };
  const bind = (tools: ToolSet): CodeModeTool => toTool(originalsOf(tools), options, modelOutput, parts);
  return asToolCaller(bind({}), bind);
}

/** Marks a tool as the AI SDK marks tool callers. Set by hand, because AI SDK 6 has no function for it. */
export function asToolCaller<T extends object>(
  tool: T,
  bind: (tools: ToolSet) => CodeModeTool,
): T & CodeModeToolCaller {
  const definition = { type: "local", bind } as const;
  return Object.defineProperty({ ...tool }, "experimental_toolCaller", { value: definition }) as T &
    CodeModeToolCaller;
}

const PARTS = Symbol.for("codecell.code-mode");

/** The parts of a code mode tool. */
export interface CodeModeParts {
  /** Undefined for a tool caller: the AI SDK binds tools to it. */
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
          // Messages tell which programs wait. A value that a program returns must not pass for an interrupt.
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

/** A model learns of a failure only by its message. So the message also holds what the program printed before. */
function withConsole(error: unknown, invocation: Invocation): unknown {
  const lines = toConsole(invocation);
  if (!(error instanceof CodeModeError) || lines.length === 0) return error;
  error.message += `\nThe program had printed:\n${lines.join("\n")}`;
  return error;
}
