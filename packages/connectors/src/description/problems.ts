/** What of a description could not be used, in bounds: a description may have a million faults. Runs anywhere. */
import type { Words } from "./words.ts";

const MOST_PROBLEMS = 100;
const LONGEST_PROBLEM = 300;

export function shownProblems(problems: readonly string[], words: Words): readonly string[] {
  return problems.slice(0, MOST_PROBLEMS).map((problem) => words.cut(problem, LONGEST_PROBLEM));
}
