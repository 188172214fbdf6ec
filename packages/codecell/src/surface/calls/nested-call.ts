/**
 * NestedCall: what hosts may know and decide about a call that a program makes.
 */
import type { Json } from "../../contract/value.ts";
import type { Decision } from "../../calls/middleware.ts";

/** Who an agent run is for; every field has to be there for a suspended program to be found again. */
export interface AgentScope {
  readonly agentId: string;
  readonly runId: string;
  readonly sessionId: string;
  readonly sessionKey: string;
  /** Ends the run: what executes is aborted, what is suspended is dropped. */
  readonly abortSignal?: AbortSignal | undefined;
}

export interface AgentContext extends AgentScope {
  /** Whatever else the host's tools want to know: sender, channel, sandbox policy. */
  readonly [name: string]: unknown;
}

export interface NestedCall {
  readonly callId: string;
  /** The model's tool call whose program makes it. */
  readonly parentToolCallId: string;
  /** The tool's id in the catalog. */
  readonly tool: string;
  readonly name: string;
  /** After validation. */
  readonly input: unknown;
  readonly context: AgentContext;
  readonly signal: AbortSignal;
}

/** What a hook makes of a call: nothing, another input, or no call at all. */
export type HookDecision = undefined | { readonly input: unknown } | { readonly block: string };

export type BeforeToolCall = (call: NestedCall) => HookDecision | Promise<HookDecision>;

/** Whether a call may be made. A person may take as long as they like: it is not the program's time. */
export type Approve = (
  call: NestedCall & {
    /** What the call was resolved with, after it suspended the program. */
    readonly resolution: Json | undefined;
  },
) => Decision | Promise<Decision>;
