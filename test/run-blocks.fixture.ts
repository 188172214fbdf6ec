/**
 * Runs blocks of the documents one after another in this process, and says on a line for each what became of it.
 *
 * - One process for many: starting Codecell from its sources takes longer than most blocks do. They share no names, each
 *   is a module.
 * - Does not exit by itself: the process ends when no block keeps it alive.
 */
import { pathToFileURL } from "node:url";

for (const file of process.argv.slice(2)) {
  let problem: string | undefined;
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
  process.stdout.write(`${JSON.stringify({ file, problem })}\n`);
}
