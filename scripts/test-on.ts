/**
 * Runs the tests on another Node.js than the pinned one: npm run test:on -- 22.18.0 [arguments for vitest]
 *
 * - This Node.js comes from the npm registry, like the pinned one, and is kept below `node_modules/.cache`.
 * - Only tests, and what they start by the path of their own Node.js, run on it. Compilers stay on the pinned
 *   Node.js.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const [version = "", ...rest] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/u.test(version)) {
  console.error("Usage: npm run test:on -- <version of Node.js, such as 22.18.0> [arguments for vitest]");
  process.exit(1);
}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): void {
  const { status, signal, error } = spawnSync(command, args, {
    cwd: ROOT,
    stdio: "inherit",
    env: { ...process.env, ...env },
    shell: command === "npm" && process.platform === "win32",
  });
  if (error !== undefined) console.error(`Cannot start ${command}: ${error.message}`);
  if (signal !== null) console.error(`${command} was ended by ${signal}`);
  if (status !== 0) process.exit(status ?? 1);
}

const isWindows = process.platform === "win32";
const platform = `node-${isWindows ? "win" : process.platform}-${process.arch}`;
const folder = join(ROOT, "node_modules/.cache/codecell-node", version);
const binary = join(folder, "node_modules", platform, "bin", isWindows ? "node.exe" : "node");
if (!existsSync(binary)) {
  mkdirSync(folder, { recursive: true });
  run("npm", [
    "install",
    "--prefix",
    folder,
    "--no-save",
    "--no-audit",
    "--no-fund",
    `${platform}@${version}`,
  ]);
}
const vitest = join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs");
run(binary, [vitest, "run", ...rest], { NODE_UNDER_TEST: version });
