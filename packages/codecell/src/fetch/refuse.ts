import { cutShort } from "../contract/cut-short.ts";
import { CallRefusal } from "../calls/call-failure.ts";
/** Runs on the host. Tells a program that its fetch was refused or failed: one code, and what to do next. */

const LONGEST_SHOWN = 200;
/** Only this many characters of a text are read. */
const LONGEST_READ = 16_384;
const USER = /^([a-z][a-z0-9+.-]*:[/\\]*)[^/\\]*@/iu;

/** An error to be thrown. */
export function refusal(url: string, problem: string, cause?: unknown): CallRefusal {
  return new CallRefusal("fetch_failed", `Cannot fetch ${shownUrl(url)}: ${problem}`, cause);
}

/** A URL without its query and user name, which may be secrets: messages end up in logs, traces and ledgers. */
export function shownUrl(url: string): string {
  const read = url.slice(0, LONGEST_READ).trimStart();
  const end = read.search(/[?#]/u);
  const path = end === -1 ? read : `${read.slice(0, end + 1)}…`;
  return shown(path.replace(USER, "$1…@"));
}

/** A text that a program or a server chose, for use in a message. */
export function shown(text: string): string {
  return JSON.stringify(cutShort(text, LONGEST_SHOWN));
}
