/** What HTTP says of a method, as hints of a tool. Runs anywhere. */
export interface Hints {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
}

export function hintsOf(method: string): Hints {
  switch (method) {
    case "GET":
    case "HEAD":
      return { readOnlyHint: true };
    case "PUT":
      return { idempotentHint: true };
    case "DELETE":
      return { idempotentHint: true, destructiveHint: true };
    default:
      return {};
  }
}

/** Whether a backend may see the request twice, without a key that makes it one. */
export function isRepeatable(method: string): boolean {
  return method === "GET" || method === "HEAD";
}
