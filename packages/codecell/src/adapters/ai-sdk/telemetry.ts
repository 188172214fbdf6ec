/** Telemetry: spans of an invocation and its calls. */

export interface CodeModeTelemetryOptions {
  isEnabled?: boolean;
  tracer?: unknown;
  recordInputs?: boolean;
  recordOutputs?: boolean;
  functionId?: string;
  metadata?: Record<string, unknown>;
}
