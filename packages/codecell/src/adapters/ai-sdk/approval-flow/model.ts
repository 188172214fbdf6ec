/**
 * Runs on the host. Model: answers in the model's place when a program waits or can go on. The model sees nothing of
 * that.
 *
 * - It keeps no state: everything follows from the prompt, so any process answers the same.
 * - A provider sees no token, no receipt, and no tool that only programs have.
 */
import { gateway, type LanguageModel, type LanguageModelMiddleware, wrapLanguageModel } from "ai";
import { printJson } from "../../../value/print-json.ts";
import { CodeModeProtocolError } from "../errors.ts";
import type { CodeModePendingInterrupt } from "../interrupt.ts";
import type { History } from "./history.ts";
import type { Losses } from "./losses.ts";
import type { PausedProgram } from "./paused-program.ts";
import type { Readings } from "./readings.ts";

type Wrap = Parameters<NonNullable<LanguageModelMiddleware["wrapGenerate"]>>[0];
type Params = Wrap["params"];
type Generated = Awaited<ReturnType<Wrap["doGenerate"]>>;
type Streamed = Awaited<ReturnType<Wrap["doStream"]>>;
type StreamPart = Streamed["stream"] extends ReadableStream<infer P> ? P : never;

interface ToolCall {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  /** JSON text. */
  readonly input: string;
}

export interface FlowModel {
  readonly codeModeTools: ReadonlySet<string>;
  /** Tools that only programs have. */
  readonly hidden: ReadonlySet<string>;
  /** The tools that programs have, by the name of their code mode tool. */
  readonly toolsOf: ReadonlyMap<string, ReadonlySet<string>>;
  readonly losses: Losses;
  readonly readings: Readings;
}

/**
 * The calls of the next step, if we make that step; otherwise none. Throws if a program is to go on and the tool of a
 * waiting call is missing: the messages stay as they are, and the program can go on with settings that have the tool.
 */
export async function nextCalls(history: History, flow: FlowModel): Promise<ToolCall[]> {
  const { hidden } = flow;
  const { asked, resumed } = nextStep(history, flow);
  const calls: ToolCall[] = [];
  for (const { toolCallId, toolName, input, payload } of asked) {
    // If the AI SDK applies the tool's schema, the schema has to give the same input again.
    const given = hidden.has(toolName) ? input : (payload["given"] ?? input);
    calls.push(await toCall(toolCallId, toolName, given));
  }
  for (const { toolName, outerToolCallId } of resumed) {
    calls.push(await toCall(`resume-${crypto.randomUUID()}`, toolName, { js: "", resume: outerToolCallId }));
  }
  return calls;
}

interface NextStep {
  readonly asked: readonly CodeModePendingInterrupt[];
  /** Only if nobody has to be asked. */
  readonly resumed: readonly PausedProgram[];
}

/** Whether `nextCalls` would give calls. Makes none of them. */
export function isStepOurs(history: History, flow: FlowModel): boolean {
  const { asked, resumed } = nextStep(history, flow);
  return asked.length > 0 || resumed.length > 0;
}

function nextStep(history: History, flow: FlowModel): NextStep {
  const { codeModeTools, losses } = flow;
  losses.look(history);
  const known = history.programs.filter(
    (program) => codeModeTools.has(program.toolName) && hasTools(program, flow),
  );
  const asked = known.filter(({ stage }) => stage === "ask").flatMap(({ approvals }) => approvals);
  return { asked, resumed: asked.length > 0 ? [] : known.filter(({ stage }) => stage === "resume") };
}

/**
 * Whether the tools of the program's waiting calls are there; denied calls need none. If somebody has moved on from the
 * program, a missing tool does not throw: the program stays as it is.
 */
function hasTools(program: PausedProgram, { toolsOf }: FlowModel): boolean {
  const { toolName, outerToolCallId, approvals, isExpected } = program;
  const missing = approvals.find(
    (call) => toolsOf.get(toolName)?.has(call.toolName) !== true && !program.isDenied(call.toolCallId),
  );
  if (missing === undefined || !isExpected) return missing === undefined;
  throw new CodeModeProtocolError(
    `Cannot go on with the program of "${outerToolCallId}": its call of "${missing.toolName}" waits for a tool that "${toolName}" does not have, give createCodeModeTool a tool of this name and send the same messages again`,
    { failure: "tool_missing", toolName: missing.toolName },
  );
}

async function toCall(toolCallId: string, toolName: string, input: unknown): Promise<ToolCall> {
  return { type: "tool-call", toolCallId, toolName, input: (await printJson(input ?? null)) ?? "null" };
}

/** The model of the settings. It is not called when the next step is ours. */
export function answeringForPrograms(model: LanguageModel, flow: FlowModel): LanguageModel {
  // AI SDK 6 wants a specification version here; AI SDK 7 does without.
  const middleware: Omit<LanguageModelMiddleware, "specificationVersion"> = {
    wrapGenerate: async ({ params, model: own }) => {
      const history = await flow.readings.ofPrompt(params.prompt);
      const calls = await nextCalls(history, flow);
      return calls.length > 0 ? toGenerated(calls) : own.doGenerate(await toShown(params, history, flow));
    },
    wrapStream: async ({ params, model: own }) => {
      const history = await flow.readings.ofPrompt(params.prompt);
      const calls = await nextCalls(history, flow);
      return calls.length > 0 ? toStreamed(calls) : own.doStream(await toShown(params, history, flow));
    },
  };
  // oxlint-disable-next-line typescript/no-unnecessary-type-assertion
  return wrapLanguageModel({ model: resolve(model), middleware: middleware as LanguageModelMiddleware });
}

async function toShown(params: Params, history: History, { hidden }: FlowModel): Promise<Params> {
  const { tools } = params;
  return {
    ...params,
    prompt: await history.collapse(params.prompt),
    ...(tools === undefined ? {} : { tools: tools.filter(({ name }) => !hidden.has(name)) }),
  };
}

type WrappedModel = Parameters<typeof wrapLanguageModel>[0]["model"];

/** A text is the id of a model. The AI SDK asks the same provider for it. */
function resolve(model: LanguageModel): WrappedModel {
  const { AI_SDK_DEFAULT_PROVIDER: provider = gateway } = globalThis as {
    AI_SDK_DEFAULT_PROVIDER?: { languageModel: (id: string) => Exclude<LanguageModel, string> };
  };
  // The AI SDK converts or refuses models of older specifications.
  const found: unknown = typeof model === "string" ? provider.languageModel(model) : model;
  return found as WrappedModel;
}

const FINISH_REASON: Generated["finishReason"] = { unified: "tool-calls", raw: undefined };

const NO_USAGE: Generated["usage"] = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

function toGenerated(calls: ToolCall[]): Generated {
  return { content: calls, finishReason: FINISH_REASON, usage: NO_USAGE, warnings: [] };
}

function toStreamed(calls: readonly ToolCall[]): Streamed {
  const parts: StreamPart[] = [
    { type: "stream-start", warnings: [] },
    ...calls.flatMap((call): StreamPart[] => {
      const { toolCallId: id, toolName, input } = call;
      return [
        { type: "tool-input-start", id, toolName },
        { type: "tool-input-delta", id, delta: input },
        { type: "tool-input-end", id },
        call,
      ];
    }),
    { type: "finish", finishReason: FINISH_REASON, usage: NO_USAGE },
  ];
  const stream = new ReadableStream<StreamPart>({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  return { stream };
}
