// Everything exported here is public API. Named exports only.
export {
  attachCodeModeApprovalResult,
  continueCodeModeApproval,
  continueCodeModeApprovals,
  generateTextWithCodeModeApprovals,
  getCodeModeApprovalInterrupt,
  getCodeModeApprovalResponse,
  isCodeModeApprovalInterrupt,
  streamTextWithCodeModeApprovals,
  toCodeModeApprovalMessages,
  wrapToolLoopAgentForCodeModeApprovals,
} from "./approvals.ts";
export type {
  CodeModeApprovalResolution,
  CodeModeApprovalResponse,
  CodeModeApprovalResult,
} from "./approvals.ts";
export { withCodeModeApprovals } from "./approval-flow/with-code-mode-approvals.ts";
export type {
  CodeModeApprovalSettings,
  WithCodeModeApprovals,
} from "./approval-flow/with-code-mode-approvals.ts";
export type { CodeModeApprovalReceipt } from "./approval-flow/receipt.ts";
export type { ToolApproval, ToolApprovalCall, ToolApprovalStatus } from "./approval-status.ts";
export {
  codeModeTool,
  codeModeTool as experimental_codeModeTool,
  createCodeModeTool,
  DIRECT_TOOL_CALL,
} from "./code-mode-tool.ts";
export type { CodeModeTool, CodeModeToolCaller } from "./code-mode-tool.ts";
export { getPendingCodeModeInterrupts, isCodeModeInterrupt } from "./continuation.ts";
export {
  CodeModeAbortedError,
  CodeModeBridgeLimitError,
  CodeModeConcurrencyError,
  CodeModeDetachedBridgeRequestError,
  CodeModeError,
  CodeModeFetchError,
  CodeModeProtocolError,
  CodeModeSourceTooLargeError,
  CodeModeTimeoutError,
  CodeModeToolApprovalDeniedError,
  CodeModeToolApprovalRequiredError,
  CodeModeToolError,
} from "./errors.ts";
export type {
  CodeModeConsoleEvent,
  CodeModeFetchRequestEvent,
  CodeModeFetchResultEvent,
  CodeModeInterruptEvent,
  CodeModeLifecycle,
  CodeModeLifecycleHookErrorEvent,
  CodeModeNestedToolCallEvent,
  CodeModeNestedToolResultEvent,
  CodeModeTrace,
  CodeModeTraceEntry,
  CodeModeTraceError,
} from "./events.ts";
export { checkingPayload, createExecWaitTools, toAgentTools, toAiTools } from "./exec-wait.ts";
export type { ExecWaitOptions, ExecWaitTools } from "./exec-wait.ts";
export type { CodeModeProgress } from "./execution.ts";
export {
  getCodeModeWorkerUrl,
  getDefaultCodeModeWorkerUrl,
  setCodeModeContinuationSigningKey,
  setCodeModeWorkerUrl,
  setMaxWorkers,
} from "./hosts.ts";
export type { CodeModeWorkerUrl } from "./hosts.ts";
export { requestCodeModeInterrupt } from "./interrupt.ts";
export type {
  CodeModeApprovalInterrupt,
  CodeModeApprovalInterruptPayload,
  CodeModeContinuation,
  CodeModeInterrupt,
  CodeModeInterruptExecutionContext,
  CodeModeInterruptPayload,
  CodeModeInterruptResolution,
  CodeModePendingInterrupt,
  CodeModeToolExecutionOptions,
} from "./interrupt.ts";
export {
  continueCodeModeInterrupt,
  continueCodeModeInterrupts,
  getCodeModeInterrupt,
  replaceCodeModeInterruptResult,
  unwrapCodeModeResult,
} from "./interrupts.ts";
export type { CodeModeUnwrappedResult } from "./interrupts.ts";
export type { CodeModeModelOutput, CodeModeModelVisibleBridgeSummary } from "./model-output.ts";
export type {
  ApprovalDecision,
  CodeModeApprovalOptions,
  CodeModeApprovalRequest,
  CodeModeContinuationOptions,
  CodeModeLostProgram,
  CodeModeExecutionPolicy,
  CodeModeFetchPolicy,
  CodeModeModelOutputOptions,
  CodeModeOptions,
  CodeModeToolInput,
  CodeModeToolSet,
  RunCodeModeInput,
} from "./options.ts";
export { runCodeMode } from "./run-code-mode.ts";
export type { CodeModeTelemetryOptions } from "./telemetry.ts";
