/**
 * Middleware stands between the calls of a run and their tools. It may block a call, rewrite its input, ask for
 * approval, suspend the run, wrap the tool and observe the end.
 *
 * - It runs on the host, in the context of whoever started the run. Time spent in `decide` does not count as the run's.
 * - It runs in the order given. Each middleware sees the input as earlier middleware left it, and the last one sees
 *   what will be executed. An input that was rewritten is validated again.
 * - If `decide` throws, the call is denied. The error is for the host alone.
 * - An adapter may also wrap validation (`VALIDATE`), and keep a call from ending (`BEFORE_END`). Time spent there does not
 *   count as the run's either.
 */
import type { BeforeAsking, CallOutcome } from "../contract/ledger.ts";
import type { AnyTool } from "../contract/tool.ts";
import type { Json } from "../contract/value.ts";
import type { Validated } from "./schema.ts";

/**
 * What the host's policy says about a call: allow it, deny it, or ask somebody. To ask, the run is suspended with the
 * payload.
 */
export type Decision = "allow" | { readonly deny: string } | { readonly suspend: Json };

export interface CallDetails {
  readonly runId: string;
  readonly callId: string;
  readonly tool: string;
  /**
   * The input after validation, as the tool will receive it. In `end` of a call that was refused: as the program gave
   * it, or undefined.
   */
  readonly input: unknown;
  readonly signal: AbortSignal;
  readonly context: unknown;
  /** What the call was resolved with, after it suspended the run. */
  readonly resolution: Json | undefined;
}

export type Authorize = (call: CallDetails) => Decision | Promise<Decision>;

/** The call may be made with another input. */
export interface Rewrite {
  readonly rewrite: unknown;
}

/**
 * The call may be made with an input that was validated and decided on before. It is not validated again, because some
 * schemas make another value each time. For surfaces of this package; a host's own middleware uses `rewrite`.
 */
export class KeptInput {
  readonly input: unknown;

  constructor(input: unknown) {
    this.input = input;
  }
}

/** Calls the tool and gives its output. If the output comes in parts, gives the last part. */
export type ExecuteTool = (changes?: {
  /** Replaces the run's signal, and has to abort when that does. */
  readonly signal?: AbortSignal;
  /** Whether further parts of the output are of no use. */
  readonly hasAsked?: () => boolean;
  /** Takes the parts of the output. Without it they become events of the run, which keep them. */
  readonly onPart?: (part: unknown) => void;
}) => Promise<unknown>;

export type CallDecision = Decision | Rewrite | KeptInput;

export interface CallMiddleware {
  /** Decides whether the call may be made. May also give the call another input, which is validated again. */
  readonly decide?: (call: CallDetails) => CallDecision | Promise<CallDecision>;
  /** Wraps the tool. `suspend` suspends the run from here: it throws, as it does in a tool. */
  readonly execute?: (
    call: CallDetails & { readonly suspend: (payload: Json) => never },
    execute: ExecuteTool,
  ) => Promise<unknown>;
  /**
   * Is told how a call ended, including calls that were refused. It is told before the program, and before
   * `mapCallFailure` changes a failure's words. It is told twice about a call that asks for a decision: when the call
   * asks, and when it ends.
   */
  readonly end?: (call: CallDetails, outcome: CallOutcome) => void | Promise<void>;
}

// Known by their names, so that a second copy of this package asks them too.
export const VALIDATE: unique symbol = Symbol.for("codecell.validate-call");
export const BEFORE_END: unique symbol = Symbol.for("codecell.before-call-end");
export const REMEMBERS: unique symbol = Symbol.for("codecell.remembers-before-asking");
const OF_TOOL: unique symbol = Symbol.for("codecell.tool-middleware");

/** Validates an input by the schema of the call's tool. Throws what the schema throws. */
export type ValidateInput = (input: unknown) => Validated | Promise<Validated>;

/** A call as middleware of this package sees it. */
export interface AdapterCall extends CallDetails {
  /** How far a call that comes again had come when it asked, if middleware `REMEMBERS` that. */
  readonly before?: BeforeAsking;
}

/** Middleware of an adapter, whose contract has its own rules for what comes before a decision. */
export interface AdapterMiddleware extends CallMiddleware {
  /**
   * Wraps validation. It gets the call with the input as the program gave it, and gives what `validate` said of that
   * input or of another one. It may throw a `CallRefusal`: then the call is not made, whatever its schema would say.
   */
  readonly [VALIDATE]?: (call: CallDetails, validate: ValidateInput) => Validated | Promise<Validated>;
  /**
   * Is waited for when the call has ended or asked, before anybody is told. Meanwhile the call counts as one that
   * executes, so that further calls wait with their inputs as texts. Nobody waits any more when the run is about to be
   * suspended, or has ended.
   */
  readonly [BEFORE_END]?: (call: CallDetails, outcome: CallOutcome) => Promise<void>;
  /** If the call asks, the run keeps with the question how far the call had come, with its input or without. */
  readonly [REMEMBERS]?: "input" | "no input";
  readonly decide?: (call: AdapterCall) => CallDecision | Promise<CallDecision>;
  readonly execute?: (
    call: AdapterCall & { readonly suspend: (payload: Json) => never },
    execute: ExecuteTool,
  ) => Promise<unknown>;
}

type WithMiddleware = AnyTool & { readonly [OF_TOOL]?: AdapterMiddleware };

/**
 * Gives the tool middleware of its own, for tools of other libraries that decide on their calls. It decides after all others,
 * and stands closest to the tool. A copy of the tool keeps it.
 */
export function withOwnMiddleware<T extends AnyTool>(tool: T, middleware: AdapterMiddleware): T {
  return { ...tool, [OF_TOOL]: middleware };
}

export function ownMiddlewareOf(tool: AnyTool | undefined): AdapterMiddleware | undefined {
  return (tool as WithMiddleware | undefined)?.[OF_TOOL];
}

/** What a program is told when a policy failed or gave no decision. */
export const UNDECIDED = "it could not be authorised";

/**
 * Throws for anything that is not a decision, so that the call is not allowed; `who` gave the decision. If `deny` is a
 * text, all other fields are ignored.
 */
export function parseDecision(given: unknown, who: string): Decision {
  if (given === "allow") return given;
  if (typeof given === "object" && given !== null) {
    const { deny, suspend } = given as { readonly deny?: unknown; readonly suspend?: Json };
    if (typeof deny === "string") return { deny };
    if (deny === undefined && "suspend" in given) return { suspend: suspend ?? null };
  }
  const what =
    typeof given === "object" && given !== null
      ? "an object that is not a decision"
      : `${String(given)}, which is not a decision`;
  throw new TypeError(`${who} gave ${what}: give "allow", { deny: "why" } or { suspend: payload }`);
}

/** Like parseDecision, for middleware, which may also rewrite. */
export function parseCallDecision(given: unknown): CallDecision {
  if (given instanceof KeptInput) return given;
  // A rewrite that also denies or asks does not allow the call.
  if (typeof given === "object" && given !== null && "rewrite" in given) {
    if (!("deny" in given) && !("suspend" in given)) return { rewrite: given.rewrite };
  }
  return parseDecision(given, "middleware");
}
