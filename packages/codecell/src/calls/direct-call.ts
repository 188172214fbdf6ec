/**
 * Runs on the host. Calls a tool that a model calls by itself, outside of any run. The caller has validated the input.
 *
 * - The tool's own middleware decides first and stands around the tool, as it does in a run. If it throws, or gives no
 *   decision, the tool is not called.
 * - An output that comes in parts is drained, and every output is validated and bounded, as it is in a run. The caller
 *   gets it as a value.
 * - Nobody could resume such a call. So it fails if the tool or its middleware asks for a decision, whatever the tool
 *   does with what `suspend` throws.
 */
import { NO_FEATURES } from "../contract/features.ts";
import { LIMIT_BOUNDS } from "../contract/limits.ts";
import type { AnyTool, CallContext } from "../contract/tool.ts";
import type { JudgeApart } from "../protocol/judges.ts";
import { CallRefusal } from "./call-failure.ts";
import { encodeOutput } from "./encode-output.ts";
import { toExecuteTool } from "./execute-tool.ts";
import { SCHEMA_FAILED } from "./invoke.ts";
import { type CallDetails, type Decision, ownMiddlewareOf, parseDecision, UNDECIDED } from "./middleware.ts";
import { Question } from "./question.ts";
import { type Validated, validatorOf } from "./schema.ts";

export interface DirectCall {
  readonly name: string;
  readonly tool: AnyTool;
  readonly input: unknown;
  readonly callId: string;
  readonly signal: AbortSignal;
  readonly context: unknown;
  readonly judgeApart: JudgeApart;
  /** Whether the tool itself answers to a signal that was aborted before. */
  readonly answersAborts?: boolean;
  /** Thrown if the call asks for a decision. */
  readonly asking: Error;
  /** For the host alone: what the schema of the output threw. */
  readonly onFault: (error: unknown) => void;
}

/** Gives what the tool gives. Throws a `CallRefusal` if the call was denied, or its output is unusable. */
export async function callDirectly(given: DirectCall): Promise<unknown> {
  const { name, input, callId, signal, context, asking } = given;
  const question = new Question();
  const call: Omit<CallContext, "suspend"> = {
    runId: callId,
    callId,
    idempotencyKey: callId,
    signal,
    context,
    resolution: undefined,
  };
  const details: CallDetails = { ...call, tool: name, input };
  const decision = await decide(given, details);
  if (decision !== "allow") {
    if ("suspend" in decision) throw asking;
    throw new CallRefusal("denied", `Cannot call the tool: ${decision.deny}`);
  }
  const output = await executed(given, call, question, details).finally(() => question.end());
  return checked(given, output);
}

/** Whatever the tool did after it had asked, nobody decided on that. */
async function executed(
  { tool, input, asking, answersAborts = false }: DirectCall,
  context: Omit<CallContext, "suspend">,
  question: Question,
  details: CallDetails,
): Promise<unknown> {
  const abortedMessage = answersAborts ? undefined : ABORTED;
  const execute = toExecuteTool({ tool, input, context, question, abortedMessage });
  const own = ownMiddlewareOf(tool);
  let output: unknown;
  try {
    output = await (own?.execute === undefined
      ? execute()
      : own.execute({ ...details, suspend: question.suspend }, execute));
  } catch (error) {
    throw question.isAsked ? asking : error;
  }
  if (question.isAsked) throw asking;
  return output;
}

const ABORTED = "Cannot call the tool: the call was aborted";

async function decide({ tool }: DirectCall, call: CallDetails): Promise<Decision> {
  const own = ownMiddlewareOf(tool);
  if (own?.decide === undefined) return "allow";
  try {
    return parseDecision(await own.decide(call), "middleware");
  } catch (error) {
    throw new CallRefusal("denied", `Cannot call the tool: ${UNDECIDED}`, error);
  }
}

/** The output as the tool's schema made it. The model is shown it as JSON, so it has to be JSON. */
async function checked({ name, tool, judgeApart, onFault }: DirectCall, output: unknown): Promise<unknown> {
  let given: Validated;
  try {
    given = await validatorOf(tool.output, "output")(output, "output", judgeApart);
  } catch (error) {
    onFault(error);
    given = { ok: false, problems: SCHEMA_FAILED.output };
  }
  if (!given.ok) {
    const message = `Tool "${name}" gave an unusable output, ${given.problems}`;
    throw new CallRefusal("invalid_output", message);
  }
  const call = { features: NO_FEATURES, tool: name };
  await encodeOutput(call, given.value, LIMIT_BOUNDS.callOutputBytes.default);
  return given.value;
}
