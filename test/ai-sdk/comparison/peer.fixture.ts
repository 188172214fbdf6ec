/** The contract's package in a process of its own, since programs may end it: one line of JSON for each case. */
import { writeSync } from "node:fs";
import * as peer from "experimental-ai-sdk-code-mode";
import { CASES } from "./cases.ts";
import { type CodeMode, outcomeOf } from "./outcome.ts";
import { toolsFor } from "./tools.ts";

const [first = "0"] = process.argv.slice(2);
for (const [index, one] of CASES.entries()) {
  if (index < Number(first)) continue;
  const outcome = await outcomeOf(one, peer as unknown as CodeMode, toolsFor);
  writeSync(1, `${JSON.stringify({ index, outcome })}\n`);
}
process.exit(0);
