/**
 * What all fuzzers of this folder share. CI runs them with a fixed number of cases, `npm run fuzz` without end.
 *
 * - A case is defined by its fuzzer and its seed only, so that a finding can be repeated.
 * - The rule: under the default limits, nothing that a program chooses holds the host's thread for 50 ms at a time.
 *   The tests host-memory-* check how much memory the host takes meanwhile.
 */
import { largestTurnMs, type Prepared } from "./thread-time.ts";

/** The rule. The shortest of several attempts with similar values counts: a busy machine only makes a turn longer. */
export const RULE_MS = 50;

export interface Case {
  /** What is done, and with what, for the reader of a finding. */
  readonly title: string;
  /** Makes a new input, which is not measured, and gives the work to measure. The work may be asynchronous. */
  readonly prepare: () => Prepared;
}

export interface Fuzzer {
  readonly name: string;
  readonly caseOf: (seed: number) => Case;
}

export interface Finding {
  readonly fuzzer: string;
  readonly seed: number;
  readonly title: string;
  readonly turnMs: number;
}

/** Undefined if the rule was kept. The shortest of several attempts counts, so that load cannot break the rule. */
export async function tryCase(
  { name, caseOf }: Fuzzer,
  seed: number,
): Promise<{ readonly turnMs: number; readonly finding: Finding | undefined; readonly title: string }> {
  const { title, prepare } = caseOf(seed);
  const turnMs = await largestTurnMs(prepare, { attempts: 4, enough: RULE_MS });
  const finding = turnMs < RULE_MS ? undefined : { fuzzer: name, seed, title, turnMs };
  return { turnMs, finding, title };
}
