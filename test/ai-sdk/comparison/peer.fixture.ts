/** The contract's package in a process of its own, since programs may end it: one line of JSON for each case. */
import { writeSync } from "node:fs";
import * as peer from "experimental-ai-sdk-code-mode";
import { CASES } from "./cases.ts";
import { type CodeMode, outcomeOf } from "./outcome.ts";
import { toolsFor } from "./tools.ts";

const names = JSON.parse(process.argv[2] ?? "[]") as string[];
for (const one of CASES) {
  if (!names.includes(one.name)) continue;
  const outcome = await outcomeOf(one, peer as unknown as CodeMode, toolsFor);
  writeSync(1, `${JSON.stringify({ name: one.name, outcome })}\n`);
}
process.exit(0);
