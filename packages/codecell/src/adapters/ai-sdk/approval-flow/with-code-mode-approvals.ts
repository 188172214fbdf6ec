/**
 * Runs on the host. WithCodeModeApprovals: settings of generateText, streamText and ToolLoopAgent with which programs
 * wait for approvals of their calls, and the AI SDK asks for these approvals as for calls of the model.
 *
 * - All state is in the messages, sealed. Any process that has the messages and the key can continue, even days later.
 */
import type { generateText, LanguageModel, ModelMessage, ToolSet } from "ai";
import { isRecord } from "../../../value/shape.ts";
import { assertApprovalNames, type ToolApproval } from "../approval-status.ts";
import { asToolCaller, type CodeModeTool, DIRECT_TOOL_CALL, partsOf } from "../code-mode-tool.ts";
import { askingForPrograms } from "./ask.ts";
import { ApprovalFlow, type ApprovalSettings, FLOW, isStandIn, type SdkTool } from "./flow.ts";
import { Losses } from "./losses.ts";
import { answeringForPrograms, type FlowModel, isStepOurs } from "./model.ts";
import { Readings } from "./readings.ts";
import { type Nested, toStandIn } from "./stand-in.ts";

type Callers = Readonly<Record<string, readonly string[] | undefined>>;

/** The type of both generations of the AI SDK. */
type StepGiven = Parameters<NonNullable<Parameters<typeof generateText>[0]["prepareStep"]>>[0];

type ToolChoice<Name> = "auto" | "none" | "required" | { type: "tool"; toolName: Name };
type Reasoning = "provider-default" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

interface StepPrepared<Name> {
  readonly model?: LanguageModel | undefined;
  readonly messages?: ModelMessage[] | undefined;
  readonly activeTools?: readonly Name[] | undefined;
  readonly toolChoice?: ToolChoice<Name> | undefined;
}

type PreparedStep<Name> = StepPrepared<Name> | undefined;

/** The settings that are read here. Settings may have everything else that the AI SDK takes. */
export interface CodeModeApprovalSettings<Name extends string = string, Context = unknown> {
  model: LanguageModel;
  tools?: ToolSet | undefined;
  /** For calls of the model and calls of programs. May also name tools that only programs have. */
  toolApproval?: ToolApproval<Context> | undefined;
  runtimeContext?: Context | undefined;
  toolsContext?: unknown;
  experimental_toolCallers?: Callers | undefined;
  experimental_refineToolInput?: unknown;
  // Only the user knows the types of this function: methods compare their parameters both ways.
  prepareStep?:
    | { bivariant(step: StepGiven): PreparedStep<Name> | PromiseLike<PreparedStep<Name>> }["bivariant"]
    | undefined;
  // Declared by name, so that values written in place keep their literal types.
  activeTools?: readonly Name[] | undefined;
  toolChoice?: ToolChoice<Name> | undefined;
  reasoning?: Reasoning | undefined;
}

/** The same settings. Entries that were rewritten for the AI SDK must not be read. */
export type WithCodeModeApprovals<Settings> = {
  [Name in keyof Settings]: Name extends "toolApproval" | "experimental_toolCallers" ? never : Settings[Name];
};

/**
 * Gives settings of the same kind. With them, the AI SDK asks for a program's call that needs approval, by
 * `toolApproval` or by its tool's `needsApproval`, under the name of the called tool. The program goes on with the
 * answer.
 */
export function withCodeModeApprovals<
  Settings extends CodeModeApprovalSettings<Name, Context>,
  Name extends string = string,
  Context = unknown,
>(settings: Settings & { runtimeContext?: Context }): WithCodeModeApprovals<NoInfer<Settings>> {
  const given: CodeModeApprovalSettings = settings;
  const { tools = {}, toolApproval, runtimeContext, toolsContext, experimental_toolCallers: callers } = given;
  if (Object.values(tools).some(isStandIn)) {
    throw new TypeError("Cannot add approvals of code mode: these settings have them already, add them once");
  }
  const codeModeTools = new Set(Object.keys(tools).filter((name) => isCodeMode(tools[name])));
  const nested = nestedIn(tools, codeModeTools, callers ?? {});
  assertApprovalNames(toolApproval, {
    ...tools,
    ...Object.fromEntries(nested.map(({ name, tool }) => [name, tool])),
  });
  const hidden = new Set(nested.filter(({ isDirect }) => !isDirect).map(({ name }) => name));
  const contexts = isRecord(toolsContext) ? toolsContext : undefined;
  const approvals: ApprovalSettings = { toolApproval, runtimeContext, toolsContext: contexts };
  const hooks = new Map([...codeModeTools].map((name) => [name, partsOf(tools[name])?.onLost]));
  const losses = new Losses(hooks);
  const readings = new Readings(codeModeTools);
  const toolsOf = Map.groupBy(
    nested.flatMap(({ name, callers: own }) => own.map((caller) => ({ name, caller }))),
    ({ caller }) => caller,
  );
  const flowModel: FlowModel = {
    codeModeTools,
    hidden,
    losses,
    readings,
    toolsOf: new Map([...toolsOf].map(([caller, own]) => [caller, new Set(own.map(({ name }) => name))])),
  };
  const own = {
    ...given,
    model: answeringForPrograms(given.model, flowModel),
    tools: {
      ...Object.fromEntries(
        Object.entries(tools).map(([name, tool]) => [
          name,
          codeModeTools.has(name) ? inFlow(tool, new ApprovalFlow(approvals, name, readings, losses)) : tool,
        ]),
      ),
      ...Object.fromEntries(nested.map((one) => [one.name, toStandIn(one, readings)])),
    },
    ...(toolApproval === undefined
      ? {}
      : { toolApproval: askingForPrograms(toolApproval, nested, codeModeTools, readings) }),
    ...(callers === undefined ? {} : { experimental_toolCallers: withDirectCalls(callers, hidden) }),
    ...withoutRefinements(given, hidden),
  };
  const names = [...new Set([...Object.keys(tools), ...hidden])];
  return {
    ...own,
    prepareStep: preparing(given.prepareStep, flowModel, names),
  } as unknown as WithCodeModeApprovals<NoInfer<Settings>>;
}

function isCodeMode(tool: SdkTool | undefined): boolean {
  return partsOf(tool) !== undefined && typeof tool?.execute === "function";
}

/** The tools that programs call, each tool once. */
function nestedIn(tools: ToolSet, codeModeTools: ReadonlySet<string>, routes: Callers): Nested[] {
  const found = new Map<string, Nested>();
  const add = (name: string, tool: SdkTool, caller: string, isDirect: boolean): void => {
    // Programs cannot call a tool without `execute`; perhaps a browser executes it.
    if (typeof tool.execute !== "function") return;
    const { callers = [] } = found.get(name) ?? {};
    found.set(name, { name, tool, isDirect, callers: [...callers, caller] });
  };
  for (const caller of codeModeTools) {
    for (const [name, tool] of Object.entries(partsOf(tools[caller])?.tools ?? {})) {
      if (codeModeTools.has(name)) {
        throw new TypeError(
          `Cannot add approvals of code mode: "${caller}" has a tool "${name}", which is code mode's own name, use another`,
        );
      }
      const own = ownOf(tools, name);
      add(name, own ?? tool, caller, own !== undefined && isForModels(ownOf(routes, name), tools));
    }
  }
  for (const [name, route] of Object.entries(routes)) {
    const tool = ownOf(tools, name);
    if (tool === undefined || codeModeTools.has(name)) continue;
    const own = (route ?? []).filter((caller) => codeModeTools.has(caller));
    for (const caller of own) add(name, tool, caller, isForModels(route, tools));
  }
  return [...found.values()];
}

function ownOf<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Whether the AI SDK shows the tool to the model. It shows tools without a route. */
function isForModels(route: readonly string[] | undefined, tools: ToolSet): boolean {
  if (route === undefined) return true;
  return route.some((caller) => {
    const { experimental_toolCaller: definition } = (ownOf(tools, caller) ?? {}) as {
      experimental_toolCaller?: { type: string };
    };
    return caller === DIRECT_TOOL_CALL || definition?.type === "provider";
  });
}

/** The AI SDK accepts calls only of tools with a direct route. Models are not shown the hidden tools all the same. */
function withDirectCalls(routes: Callers, hidden: ReadonlySet<string>): Callers {
  return Object.fromEntries(
    Object.entries(routes).map(([name, route]) => [
      name,
      hidden.has(name) ? [...(route ?? []), DIRECT_TOOL_CALL] : route,
    ]),
  );
}

/** Inputs of programs' calls are not refined: the approved call would be another call. */
function withoutRefinements(
  { experimental_refineToolInput: refinements }: CodeModeApprovalSettings,
  hidden: ReadonlySet<string>,
): object {
  if (!isRecord(refinements)) return {};
  const left = Object.entries(refinements).filter(([name]) => !hidden.has(name));
  return { experimental_refineToolInput: Object.fromEntries(left) };
}

/** The same tool. Its execution gets the flow. */
function inFlow(tool: SdkTool, flow: ApprovalFlow): SdkTool {
  const {
    execute,
    needsApproval,
    experimental_toolCaller: caller,
  } = tool as {
    execute: (input: unknown, options: object) => unknown;
    needsApproval?: unknown;
    experimental_toolCaller?: { bind: (tools: ToolSet) => CodeModeTool };
  };
  const told = {
    ...tool,
    execute: (input: unknown, options: object) => execute(input, { ...options, [FLOW]: flow }),
    ...(needsApproval === undefined ? {} : { needsApproval: exceptToResume(needsApproval, flow.readings) }),
  } as SdkTool;
  if (caller === undefined) return told;
  return asToolCaller(told, (tools) => inFlow(caller.bind(tools), flow) as CodeModeTool);
}

/** Continuing a program needs no approval of its own. */
function exceptToResume(needsApproval: unknown, readings: Readings) {
  return async (input: unknown, options: { readonly messages: ModelMessage[] }): Promise<boolean> => {
    if ((await readings.of(options.messages)).isResumption(input)) return false;
    const asked: unknown =
      typeof needsApproval === "function" ? needsApproval(input, options) : needsApproval;
    return Boolean(await asked);
  };
}

/** A step of ours ignores the choice of tools. A model that a step brings along is wrapped like the others. */
function preparing(
  prepareStep: CodeModeApprovalSettings["prepareStep"],
  flow: FlowModel,
  activeTools: readonly string[],
): (step: StepGiven) => Promise<StepPrepared<string>> {
  return async (step) => {
    const own = (await prepareStep?.(step)) ?? {};
    const prepared = own.model === undefined ? own : { ...own, model: answeringForPrograms(own.model, flow) };
    const history = await flow.readings.begin(own.messages ?? step.messages);
    const isOurs = isStepOurs(history, flow);
    return isOurs ? { ...prepared, activeTools, toolChoice: "auto" } : prepared;
  };
}
