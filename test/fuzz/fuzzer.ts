/**
 * Fuzzer: what all fuzzers of this folder are made of, and how they are run: with a budget of cases in CI, without one
 * by `npm run fuzz`.
 *
 * - A case is named by its fuzzer and its seed alone, so what was found once is found again.
 * - The rule that is checked: under the default limits nothing a program chooses holds the host's thread for 50 ms at a
 *   time. What the host keeps meanwhile host-memory.test.ts looks at.
 */
import { largestTurnMs, type Prepared } from "./thread-time.ts";

/** The rule. Of several attempts with values alike the least counts: a busy machine adds to a turn, and takes nothing off it. */
export const RULE_MS = 50;

export interface Case {
  /** What is done, and with what: for whoever reads a finding. */
  readonly title: string;
  /** Makes its input anew, outside of what is measured, and gives what is to be measured. May be asynchronous work. */
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

/** Undefined where the rule was kept. The least of several attempts counts, so that load cannot break it. */
export async function tryCase(
  { name, caseOf }: Fuzzer,
  seed: number,
): Promise<{ readonly turnMs: number; readonly finding: Finding | undefined; readonly title: string }> {
  const { title, prepare } = caseOf(seed);
  const turnMs = await largestTurnMs(prepare, { attempts: 4, enough: RULE_MS });
  const finding = turnMs < RULE_MS ? undefined : { fuzzer: name, seed, title, turnMs };
  return { turnMs, finding, title };
}
