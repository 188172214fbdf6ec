/** What host and worker say to each other about values that are judged apart, on a thread that has no cells. */
import type { Verdict } from "../json-schema/validator.ts";
import { isRecord } from "../value/shape.ts";

/** What such a thread is started with, beside its port. */
export const JUDGE_ROLE = "judge";

/** Said once, when the thread can judge. */
export const READY = "ready";

/** Undefined for what is no verdict. */
export function parseVerdict(message: unknown): Verdict | undefined {
  if (!isRecord(message)) return undefined;
  const { kind, problems } = message;
  if (kind === "fits" || kind === "unknown" || kind === "faulty") return { kind };
  if (kind !== "unfit" || !Array.isArray(problems)) return undefined;
  return { kind, problems: problems.filter((problem) => typeof problem === "string") };
}
