/** Runs the two commands one after the other, each in a process of its own, and checks what they did. */
import { deepStrictEqual, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { paymentsIn } from "./office.ts";
import { PROGRAM } from "./program.ts";

const folder = mkdtempSync(join(tmpdir(), "codecell-approval-"));
// All processes of the office have it: what comes from the store is trusted only when it was sealed with this key.
const env = { ...process.env, CODECELL_SEAL_KEY: randomBytes(32).toString("base64") };

function title(text: string): void {
  console.log(`\n── ${text} ${"─".repeat(Math.max(0, 72 - text.length))}\n`);
}

function command(name: string): string {
  title(`node ${name}`);
  const args = [...process.execArgv, join(import.meta.dirname, name), folder];
  const said = execFileSync(process.execPath, args, { env, encoding: "utf8" });
  process.stdout.write(said);
  return said;
}

try {
  title("The program a model wrote");
  console.log(PROGRAM.replaceAll(/^/gmu, "  ").trimEnd());

  const submitted = command("submit.ts");
  ok(submitted.includes("Pay 480 for E-2?") && submitted.includes("Pay 350 for E-4?"));
  deepStrictEqual(paymentsIn(folder), ["E-1 64 approved by the rules", "E-3 7 approved by the rules"]);

  const decided = command("decide.ts");
  ok(decided.includes("Bo: paid, approved by Eve"));
  ok(decided.includes("Dai: not paid") && decided.includes("dinners are on you"));
  ok(decided.includes("Runs left in the store: 0"));

  title("What was paid, by both processes");
  console.log(paymentsIn(folder).join("\n"));
  deepStrictEqual(paymentsIn(folder), [
    "E-1 64 approved by the rules",
    "E-3 7 approved by the rules",
    "E-2 480 approved by Eve",
  ]);
  console.log("\nAll as expected.");
} finally {
  rmSync(folder, { recursive: true, force: true });
}
