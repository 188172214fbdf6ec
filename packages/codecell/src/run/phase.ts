/**
 * Phase: where a run stands. Runs on the host.
 *
 * - A run is in one phase at a time, and `NEXT_PHASES` has every way from one phase to another.
 * - docs/internals/run.md shows the table as a picture; a test compares the two.
 */
import type { Failure } from "../contract/failure.ts";
import type { Suspension } from "../contract/result.ts";

export type Phase =
  /** Not placed yet: its program is being checked. */
  | { readonly name: "starting" }
  /** Its cell is placed. Calls, timers and deliveries move it. */
  | { readonly name: "running" }
  /**
   * It is suspended as soon as it rests: its time is up, or a call that asks has waited a second for the other calls.
   */
  | { readonly name: "due" }
  /** It is being given to a token or to the store. Its calls go on. */
  | { readonly name: "suspending"; readonly suspension: Promise<Suspension | Failure> }
  /** The program returned. Its result is being read. */
  | { readonly name: "returning" }
  /** The program failed. Its calls are told to stop and get a moment to do so. */
  | { readonly name: "failing" }
  /** It has its result. */
  | { readonly name: "ended"; readonly run: AfterEnd };

/** What becomes of a run that has ended here. */
export type AfterEnd =
  /** Nothing: its program is over. */
  | "over"
  /** It is suspended: a token or the store has it. */
  | "given away"
  /** Its store keeps it as it was, and others can go on with it. */
  | "left";

type PhaseName = Phase["name"];

export const NEXT_PHASES: Readonly<Record<PhaseName, readonly PhaseName[]>> = {
  starting: ["running", "ended"],
  running: ["due", "suspending", "returning", "failing", "ended"],
  due: ["suspending", "returning", "failing", "ended"],
  suspending: ["ended"],
  returning: ["ended"],
  failing: ["ended"],
  ended: [],
};

/** Whether deliveries and reports still count. */
export function isMoving({ name }: Phase): boolean {
  return name === "running" || name === "due" || name === "starting";
}
