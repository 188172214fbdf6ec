/**
 * Runs on the host. Flow: what withCodeModeApprovals passes to an execution of a code mode tool, and the marks of
 * stand-ins.
 *
 * - The flow travels in the options of one execution, under a symbol. So a tool that is also used elsewhere is not
 *   changed.
 */
import type { ToolSet } from "ai";
import type { ToolApproval } from "../approval-status.ts";
import type { CodeModeApprovalOptions } from "../options.ts";
import type { Losses } from "./losses.ts";
import type { Readings } from "./readings.ts";

export const FLOW: unique symbol = Symbol.for("codecell.code-mode.approval-flow");

/** Any tool of the AI SDK. */
export type SdkTool = ToolSet[string];

/** What the settings say about approvals. */
export interface ApprovalSettings {
  readonly toolApproval: ToolApproval | undefined;
  readonly runtimeContext: unknown;
  readonly toolsContext: Readonly<Record<string, unknown>> | undefined;
}

export class ApprovalFlow {
  readonly #settings: ApprovalSettings;
  /** The name of the code mode tool in the settings. The tool continues only its own programs. */
  readonly toolName: string;
  readonly readings: Readings;
  readonly #losses: Losses;

  constructor(settings: ApprovalSettings, toolName: string, readings: Readings, losses: Losses) {
    this.#settings = settings;
    this.toolName = toolName;
    this.readings = readings;
    this.#losses = losses;
  }

  /** A call that was to continue the program of an earlier call threw this error. */
  refused(toolCallId: string, error: unknown): void {
    this.#losses.refused(this.toolName, toolCallId, error);
  }

  /** The settings go before the tool's own options. Only interrupts ask anybody. */
  approvalFor(own: CodeModeApprovalOptions = {}): CodeModeApprovalOptions {
    const { toolApproval = own.toolApproval, runtimeContext, toolsContext } = this.#settings;
    const context = toolsContext ?? own.toolsContext;
    return {
      mode: "interrupt",
      ...(toolApproval === undefined ? {} : { toolApproval }),
      runtimeContext: runtimeContext ?? own.runtimeContext,
      ...(context === undefined ? {} : { toolsContext: context }),
    };
  }
}

const ORIGINAL = Symbol.for("codecell.code-mode.original-tool");

/** Marks the stand-in of a nested tool. */
export function markedAs(standIn: object, original: SdkTool): SdkTool {
  return Object.assign(standIn, { [ORIGINAL]: original }) as unknown as SdkTool;
}

export function isStandIn(tool: object): boolean {
  return ORIGINAL in tool;
}

/** The tools behind stand-ins: programs call the tools themselves, never their stand-ins. */
export function originalsOf(tools: ToolSet): ToolSet {
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, (tool as { [ORIGINAL]?: SdkTool })[ORIGINAL] ?? tool]),
  );
}
