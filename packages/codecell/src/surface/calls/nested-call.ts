/** Types only. A nested call is a call that a program of an agent run makes, as hosts may see it and decide about it. */
import type { Json } from "../../contract/value.ts";
import type { Decision } from "../../calls/middleware.ts";

/** Whom an agent run is for. A suspended program can be found again only if every field is set. */
export interface AgentScope {
  readonly agentId: string;
  readonly runId: string;
  readonly sessionId: string;
  readonly sessionKey: string;
  /** Ends the run: programs that execute are aborted, suspended programs are dropped. */
  readonly abortSignal?: AbortSignal | undefined;
}

export interface AgentContext extends AgentScope {
  /** Anything else that the host's tools need: sender, channel, sandbox policy. */
  readonly [name: string]: unknown;
}

export interface NestedCall {
  readonly callId: string;
  /** The model's tool call whose program makes this call. */
  readonly parentToolCallId: string;
  /** The tool's id in the catalog. */
  readonly tool: string;
  readonly name: string;
  /** The input after validation. */
  readonly input: unknown;
  readonly context: AgentContext;
  readonly signal: AbortSignal;
}

/** What a hook decides: nothing, another input, or that the call is not made. */
export type HookDecision = undefined | { readonly input: unknown } | { readonly block: string };

export type BeforeToolCall = (call: NestedCall) => HookDecision | Promise<HookDecision>;

/** Decides whether a call may be made. A person may take any time: it does not count as the program's time. */
export type Approve = (
  call: NestedCall & {
    /** The value with which the call was resolved, after it suspended the program. */
    readonly resolution: Json | undefined;
  },
) => Decision | Promise<Decision>;
