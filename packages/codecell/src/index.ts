// Everything exported here is public API. Named exports only.
export type { Compression } from "./contract/compression.ts";
export type { Diagnostic, DiagnosticCode } from "./contract/diagnostic.ts";
export type { CallStep, LiveEvent, OnEvent, OutcomeSummary, RunEvent } from "./contract/events.ts";
export { CodecellError } from "./contract/failure.ts";
export type {
  CallFailure,
  CallFailureCode,
  Failure,
  FailureCode,
  GuestError,
  Position,
} from "./contract/failure.ts";
export type { HostError, HostErrorSource, OnError } from "./contract/host-error.ts";
export type {
  AskedOutcome,
  CallOutcome,
  Delivery,
  DeliveryItem,
  Language,
  Ledger,
  LedgerCall,
  SettledOutcome,
} from "./contract/ledger.ts";
export type { LimitName, Limits } from "./contract/limits.ts";
export { unwrap } from "./contract/result.ts";
export type {
  CallResolution,
  ForkOutcome,
  LogLevel,
  LogLine,
  PendingCall,
  Resolutions,
  RunResult,
  RunStats,
  Suspension,
} from "./contract/result.ts";
export type { FromJsonSchema } from "./contract/json-schema-type.ts";
export type { JsonSchema, StandardSchema } from "./contract/standard-schema.ts";
export { defineTool } from "./contract/tool.ts";
export type { AnyTool, CallContext, Tool, ToolExample, ToolSet } from "./contract/tool.ts";
export type { Json } from "./contract/value.ts";
export type { MapCallFailure } from "./calls/call-failure.ts";
export type {
  Authorize,
  CallDetails,
  CallMiddleware,
  Decision,
  ExecuteTool,
  Rewrite,
} from "./calls/middleware.ts";
export type { FetchPolicy } from "./fetch/policy.ts";
export type { GuestApi } from "./declare/guest-api.ts";
export { createHost } from "./run/host/host.ts";
export type {
  DiscardOptions,
  EndedRecord,
  ForkOptions,
  Host,
  HostOptions,
  KeepEnded,
  ReadEndedOptions,
  ResumeOptions,
  RunHandle,
  RunOptions,
  StartOptions,
} from "./run/host/host.ts";
export { run } from "./run/host/default-host.ts";
export type { ConnectorHandles } from "./run/host/connector-handles.ts";
export type { GuestCatalog } from "./run/host/guest-catalog.ts";
export type { HostCheck } from "./run/check/host-check.ts";
export type { CellListener, CellStart, Loss, Placement, Sandbox } from "./sandbox/sandbox.ts";
