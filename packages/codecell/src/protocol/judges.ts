/**
 * The messages between the host and a judge: a thread without cells that judges values where judging may take long.
 * Known to both sides.
 */
import type { Verdict } from "../json-schema/judge.ts";
import { isRecord } from "../value/shape.ts";
import type { Direction } from "../contract/standard-schema.ts";

/** A value to judge on a judge's thread. Schema and value are JSON texts. */
export interface Case {
  readonly schema: string;
  readonly direction: Direction;
  readonly value: string;
  readonly root: string;
}

/** `unknown` if judging takes too long on that thread, too. */
export type VerdictApart = Verdict | { readonly kind: "unavailable" };

/** Judges a value on another thread. Never rejects. */
export type JudgeApart = (apart: Case) => Promise<VerdictApart>;

/** The role that a judge's thread is started with, beside its port. */
export const JUDGE_ROLE = "judge";

/** The thread sends this once, when it can judge. */
export const READY = "ready";

/** Undefined if the message is not a verdict. */
export function parseVerdict(message: unknown): Verdict | undefined {
  if (!isRecord(message)) return undefined;
  const { kind, problems } = message;
  if (kind === "fits" || kind === "unknown" || kind === "faulty") return { kind };
  if (kind !== "unfit" || !Array.isArray(problems)) return undefined;
  return { kind, problems: problems.filter((problem) => typeof problem === "string") };
}
