/** What a call came to, as the host knows it. */
import type { CallFailure } from "../contract/failure.ts";
import type { Json } from "../contract/value.ts";

export type CallOutcome =
  | { readonly status: "completed"; readonly output: string; readonly outputBytes: number }
  | { readonly status: "failed"; readonly failure: CallFailure }
  | { readonly status: "suspended"; readonly payload: Json };
