/**
 * Runs on the host. Calls a tool that a model calls by itself, outside of any run. The caller has validated the input.
 *
 * - The tool's own middleware decides first and stands around the tool, as it does in a run. If it throws, or gives no
 *   decision, the tool is not called.
 * - Nobody could resume such a call. So it fails if the tool or its middleware asks for a decision, whatever the tool
 *   does with what `suspend` throws.
 */
import type { AnyTool, CallContext } from "../contract/tool.ts";
import { CallRefusal } from "./call-failure.ts";
import { type CallDetails, type Decision, ownMiddlewareOf, parseDecision, UNDECIDED } from "./middleware.ts";

export interface DirectCall {
  readonly name: string;
  readonly tool: AnyTool;
  readonly input: unknown;
  readonly callId: string;
  readonly signal: AbortSignal;
  readonly context: unknown;
  /** Thrown if the call asks for a decision. */
  readonly asking: Error;
}

/** Gives what the tool gives. Throws a `CallRefusal` if the call was denied. */
export async function callDirectly(given: DirectCall): Promise<unknown> {
  const { name, tool, input, callId, signal, context, asking } = given;
  let hasAsked = false;
  const call: CallContext = {
    runId: callId,
    callId,
    idempotencyKey: callId,
    signal,
    context,
    resolution: undefined,
    suspend: () => {
      hasAsked = true;
      throw asking;
    },
  };
  const details: CallDetails = { ...call, tool: name, input };
  const decision = await decide(given, details);
  if (decision !== "allow") {
    if ("suspend" in decision) throw asking;
    throw new CallRefusal("denied", `Cannot call the tool: ${decision.deny}`);
  }
  const execute = async (): Promise<unknown> => tool.execute(input, call);
  const own = ownMiddlewareOf(tool);
  const output = await (own?.execute === undefined
    ? execute()
    : own.execute({ ...details, suspend: call.suspend }, execute));
  // The tool caught what `suspend` threw. Nobody decided on what the tool then did or left undone.
  if (hasAsked) throw asking;
  return output;
}

async function decide({ tool }: DirectCall, call: CallDetails): Promise<Decision> {
  const own = ownMiddlewareOf(tool);
  if (own?.decide === undefined) return "allow";
  try {
    return parseDecision(await own.decide(call), "middleware");
  } catch (error) {
    throw new CallRefusal("denied", `Cannot call the tool: ${UNDECIDED}`, error);
  }
}
