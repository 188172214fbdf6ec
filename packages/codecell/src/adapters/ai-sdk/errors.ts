/**
 * Runs on the host. Errors: what code mode throws to its host. Each has a class, and a `code` that never changes its
 * meaning.
 *
 * - Errors are made on the host from what the host saw. A program cannot choose the class of what it throws.
 */

export class CodeModeError extends Error {
  code: string;
  readonly details?: unknown;

  constructor(message: string, code = "CODE_MODE_ERROR", details?: unknown) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.details = details;
  }
}

export class CodeModeTimeoutError extends CodeModeError {
  constructor(timeoutMs: number, message = `Code mode took longer than ${timeoutMs} ms`) {
    super(message, "CODE_MODE_TIMEOUT", { timeoutMs });
  }
}

export class CodeModeAbortedError extends CodeModeError {
  constructor(message = "Code mode was aborted") {
    super(message, "CODE_MODE_ABORTED");
  }
}

export class CodeModeConcurrencyError extends CodeModeError {
  /** Without a number, the memory of the machine is what allows no more invocations. */
  constructor(
    maxWorkers: number | undefined,
    message = `Cannot start: ${maxWorkers} invocations are active already, the most that setMaxWorkers allows; try again later`,
  ) {
    super(message, "CODE_MODE_CONCURRENCY_LIMIT", maxWorkers === undefined ? {} : { maxWorkers });
  }
}

export class CodeModeSourceTooLargeError extends CodeModeError {
  constructor(bytes: number, maxBytes: number) {
    super(`The source has ${bytes} bytes, at most ${maxBytes} are allowed`, "CODE_MODE_SOURCE_TOO_LARGE", {
      bytes,
      maxBytes,
    });
  }
}

export class CodeModeBridgeLimitError extends CodeModeError {
  constructor(message: string, details?: unknown) {
    super(message, "CODE_MODE_BRIDGE_LIMIT", details);
  }
}

/** A program ended without waiting for one of its calls. */
export class CodeModeDetachedBridgeRequestError extends CodeModeError {
  constructor(message: string, details?: unknown) {
    super(message, "CODE_MODE_DETACHED_BRIDGE_REQUEST", details);
  }
}

/**
 * A continuation, a response to an approval or a resolution is invalid, was altered, has expired or was used before.
 */
export class CodeModeProtocolError extends CodeModeError {
  constructor(message: string, details?: unknown) {
    super(message, "CODE_MODE_PROTOCOL_ERROR", details);
  }
}

export class CodeModeToolError extends CodeModeError {
  constructor(message: string, details?: unknown, code = "CODE_MODE_TOOL_ERROR") {
    super(message, code, details);
  }
}

export class CodeModeToolApprovalRequiredError extends CodeModeToolError {
  constructor(toolName: string, input: unknown, toolCallId: string) {
    super(
      `Tool "${toolName}" requires approval before it is executed`,
      { toolName, input, toolCallId },
      "CODE_MODE_TOOL_APPROVAL_REQUIRED",
    );
  }
}

export class CodeModeToolApprovalDeniedError extends CodeModeToolError {
  constructor(toolName: string, input: unknown, toolCallId: string, reason?: string) {
    super(
      `Tool "${toolName}" was not approved${reason === undefined || reason === "" ? "" : `: ${reason}`}`,
      { toolName, input, toolCallId, reason },
      "CODE_MODE_TOOL_APPROVAL_DENIED",
    );
  }
}

export class CodeModeFetchError extends CodeModeError {
  constructor(message: string, details?: unknown) {
    super(message, "CODE_MODE_FETCH_ERROR", details);
  }
}
