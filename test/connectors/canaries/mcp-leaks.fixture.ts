/** The server of mcp-leaks.ts as a process: it repeats its environment and its arguments. `die` says that it cannot start. */
import { createInterface } from "node:readline";
import { mcpAnswers, type Request } from "./mcp-leaks.ts";

const given = [...Object.values(process.env), ...process.argv.slice(2)].filter(
  (text) => text?.includes("core") === true,
) as string[];

process.stderr.write(`starting with ${given.join(" ")}\n`);
if (process.argv.includes("die")) {
  process.stderr.write(`${given.join(" ")} are wrong`, () => process.exit(3));
} else {
  for await (const line of createInterface({ input: process.stdin })) {
    for (const answer of mcpAnswers(JSON.parse(line) as Request, given))
      process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
}
