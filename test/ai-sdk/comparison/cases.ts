/** All that is compared. */
import { FETCH } from "./fetch-cases.ts";
import { HOOKS, MODEL_OUTPUT } from "./host-cases.ts";
import { APPROVALS, INTERRUPTS } from "./interrupt-cases.ts";
import type { Case } from "./outcome.ts";
import { DETACHED, ERRORS, FORWARDING, LIMITS, TOOLS, VALUES } from "./programs.ts";

export const CASES: readonly Case[] = [
  ...VALUES,
  ...TOOLS,
  ...FORWARDING,
  ...ERRORS,
  ...LIMITS,
  ...DETACHED,
  ...APPROVALS,
  ...INTERRUPTS,
  ...FETCH,
  ...MODEL_OUTPUT,
  ...HOOKS,
];

/** Calls left behind reach the package's next program: these get processes of their own. */
export const ALONE: ReadonlySet<Case> = new Set(DETACHED);
