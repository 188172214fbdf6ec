/** Refuse: how a fetch that is not made, or failed, is told to the program: one code, and what to do next. */
import { CallRefusal } from "../bridge/invoke.ts";

const LONGEST_URL = 200;

/** To be thrown. */
export function refusal(url: string, problem: string, cause?: unknown): CallRefusal {
  return new CallRefusal("fetch_failed", `Cannot fetch ${shown(url)}: ${problem}`, cause);
}

/** A text of the program's or a server's, where a message repeats it. */
export function shown(text: string): string {
  const cut = text.length <= LONGEST_URL ? text : `${text.slice(0, LONGEST_URL).toWellFormed()}…`;
  return JSON.stringify(cut);
}
