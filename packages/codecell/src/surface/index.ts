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
export type { ExchangeOptions, ToolUpdate } from "./agent-program.ts";
export { CODE_MODE_ERROR_CODES } from "./shown/code-mode-result.ts";
export type {
  CodeModeCompleted,
  CodeModeErrorCode,
  CodeModeFailed,
  CodeModeOutput,
  CodeModeResult,
  CodeModeTelemetry,
  CodeModeWaiting,
  PendingToolCall,
} from "./shown/code-mode-result.ts";
export { resolveCodeMode } from "./config.ts";
export type { CodeModeSettings, ResolvedCodeMode } from "./config.ts";
export type {
  AgentContext,
  AgentScope,
  Approve,
  BeforeToolCall,
  HookDecision,
  NestedCall,
} from "./calls/nested-call.ts";
export { PayloadError } from "./payload.ts";
export type { PayloadTool } from "./payload.ts";
export type { Redact } from "./record/redact-record.ts";
export type { TrajectoryExport, TrajectoryOptions } from "./record/trajectory.ts";
export type { CallRecord, EntryRecord, TrajectoryRecord } from "./record/trajectory-record.ts";
