/** A command that repeats its environment and its arguments: the first one says how. */
import { allForms } from "./leaks.ts";

const [how = "", ...args] = process.argv.slice(2);
const given = [...Object.values(process.env), ...args].filter(
  (text) => text?.includes("core") === true,
) as string[];
const leak = allForms(given);
if (how === "text" || how === "bytes") process.stdout.write(leak);
if (how === "json") process.stdout.write(JSON.stringify({ [leak]: [leak, given] }));
if (how === "lines") process.stdout.write(given.join("\n"));
if (how === "broken-json") process.stdout.write(`{"a": ${leak}`);
if (how === "fail") {
  process.stderr.write(leak);
  process.exitCode = 3;
}
if (how === "fail-at-length") {
  process.stderr.write(`${given.join(" ").repeat(500)} at the end`);
  process.exitCode = 3;
}
if (how === "fail-in-output") {
  process.stdout.write(leak);
  process.exitCode = 3;
}
