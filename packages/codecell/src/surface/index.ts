// Everything exported here is public API. Named exports only.
export { createAgentRuntime, prepareAgentRun } from "./prepare-agent-run.ts";
export type {
  AgentRunOptions,
  AgentRuntime,
  AgentRuntimeOptions,
  PreparedAgentRun,
  VisibleTool,
} from "./prepare-agent-run.ts";
export type { AgentTool, AgentTools, AgentToolSet } from "./agent-tools.ts";
export type { LegOptions, ToolUpdate } from "./cell.ts";
export { CODE_MODE_ERROR_CODES } from "./code-mode-result.ts";
export type {
  CodeModeCompleted,
  CodeModeErrorCode,
  CodeModeFailed,
  CodeModeOutput,
  CodeModeResult,
  CodeModeTelemetry,
  CodeModeWaiting,
  PendingToolCall,
} from "./code-mode-result.ts";
export { resolveCodeMode } from "./config.ts";
export type { CodeModeSettings, ResolvedCodeMode } from "./config.ts";
export type {
  AgentContext,
  AgentScope,
  Approve,
  BeforeToolCall,
  HookDecision,
  NestedCall,
} from "./nested-call.ts";
export { PayloadError } from "./payload.ts";
export type { PayloadTool } from "./payload.ts";
export type { Redact } from "./redact-record.ts";
export type { TrajectoryExport, TrajectoryOptions } from "./trajectory.ts";
export type { CallRecord, EntryRecord, TrajectoryRecord } from "./trajectory-record.ts";
