/**
 * Middleware: what stands between the calls of a run and their tools. It may block a call, rewrite its input, ask for
 * approval, suspend the run, wrap the tool and observe the end.
 *
 * - Runs on the host, in the context of whoever started the run. Time spent in `decide` is not the run's.
 * - In the order given: each sees the input as those before it left it, and the last one what will be executed. An input
 *   that was rewritten is validated again.
 * - Whatever throws in `decide` allows nothing; its error is for the host alone.
 */
import type { CallOutcome } from "../contract/ledger.ts";
import type { AnyTool } from "../contract/tool.ts";
import type { Json } from "../contract/value.ts";
import type { JudgeApart } from "../protocol/judges.ts";

/** What the host's policy says about a call: yes, no, or ask somebody; then the run is suspended with the payload. */
export type Decision = "allow" | { readonly deny: string } | { readonly suspend: Json };

export interface CallDetails {
  readonly runId: string;
  readonly callId: string;
  readonly tool: string;
  /** The input after validation, as the tool will receive it. */
  readonly input: unknown;
  readonly signal: AbortSignal;
  readonly context: unknown;
  /** What the call was resolved with, after it suspended the run. */
  readonly resolution: Json | undefined;
}

export type Authorize = (call: CallDetails) => Decision | Promise<Decision>;

/** The call may be made, with another input. */
export interface Rewrite {
  readonly rewrite: unknown;
}

/**
 * The call may be made with an input that was validated and decided on before: it is not validated again, since some schemas
 * make another value each time. For surfaces of this package; a host's own middleware rewrites.
 */
export class KeptInput {
  readonly input: unknown;

  constructor(input: unknown) {
    this.input = input;
  }
}

/** Calls the tool and gives its output, of one that comes in parts the last. */
export type ExecuteTool = (changes?: {
  /** In place of the run's: it has to follow that one. */
  readonly signal?: AbortSignal;
  /** Whether what comes in parts is of no use any more. */
  readonly hasAsked?: () => boolean;
  /** Takes what comes in parts, in place of the run's events, which keep it. */
  readonly onPart?: (part: unknown) => void;
}) => Promise<unknown>;

export type CallDecision = Decision | Rewrite | KeptInput;

export interface CallMiddleware {
  /** `judgeApart` judges a value by a JSON Schema on another thread, where that may take long. */
  readonly decide?: (call: CallDetails, judgeApart: JudgeApart) => CallDecision | Promise<CallDecision>;
  /** Around the tool. To suspend the run from here, `suspend` throws as it does in a tool. */
  readonly execute?: (
    call: CallDetails & { readonly suspend: (payload: Json) => never },
    execute: ExecuteTool,
  ) => Promise<unknown>;
  /**
   * Told what a call came to, refused ones too, before the program is, and before `mapCallFailure` puts a failure into other
   * words. A call that asks for a decision is told of twice: when it asks, and when it ends.
   */
  readonly end?: (call: CallDetails, outcome: CallOutcome) => void | Promise<void>;
}

// Known by its name, so that a second copy of this package asks it too.
const OF_TOOL: unique symbol = Symbol.for("codecell.tool-middleware");

type WithMiddleware = AnyTool & { readonly [OF_TOOL]?: CallMiddleware };

/**
 * Gives the tool middleware of its own, for tools of other libraries that decide on their calls. It decides after all others,
 * and stands closest to the tool. A copy of the tool keeps it.
 */
export function withOwnMiddleware<T extends AnyTool>(tool: T, middleware: CallMiddleware): T {
  return { ...tool, [OF_TOOL]: middleware };
}

export function ownMiddlewareOf(tool: AnyTool | undefined): CallMiddleware | undefined {
  return (tool as WithMiddleware | undefined)?.[OF_TOOL];
}

/** What is told of a policy that failed, or decided nothing. */
export const UNDECIDED = "it could not be authorised";

/** Throws for what is no decision: it allows nothing. `who` gave it. A no is one, whatever else it comes with. */
export function parseDecision(given: unknown, who: string): Decision {
  if (given === "allow") return given;
  if (typeof given === "object" && given !== null) {
    const { deny, suspend } = given as { readonly deny?: unknown; readonly suspend?: Json };
    if (typeof deny === "string") return { deny };
    if (deny === undefined && "suspend" in given) return { suspend: suspend ?? null };
  }
  const what = typeof given === "object" && given !== null ? "an object that is none" : String(given);
  throw new TypeError(
    `${who} gave no decision but ${what}: give "allow", { deny: "why" } or { suspend: payload }`,
  );
}

/** The same for middleware, which may also rewrite. */
export function parseCallDecision(given: unknown): CallDecision {
  if (given instanceof KeptInput) return given;
  // Who also denies or asks does not allow.
  if (typeof given === "object" && given !== null && "rewrite" in given) {
    if (!("deny" in given) && !("suspend" in given)) return { rewrite: given.rewrite };
  }
  return parseDecision(given, "middleware");
}
