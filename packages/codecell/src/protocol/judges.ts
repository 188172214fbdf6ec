/** What host and worker say to each other about values that are judged apart, on a thread that has no cells. */
import type { Verdict } from "../json-schema/validator.ts";
import { isRecord } from "../value/shape.ts";
import type { Direction } from "../contract/standard-schema.ts";

/** A value to be judged where that may take long. Both as JSON texts. */
export interface Case {
  readonly schema: string;
  readonly direction: Direction;
  readonly value: string;
  readonly root: string;
}

/** `unknown` when it takes too long there too. */
export type VerdictApart = Verdict | { readonly kind: "unavailable" };

/** Judges a value on another thread. Never rejects. */
export type JudgeApart = (apart: Case) => Promise<VerdictApart>;

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
