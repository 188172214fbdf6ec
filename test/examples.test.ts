/** Every example checks itself; here they all run. */
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { ROOT } from "./sources.ts";
import { SOURCE_FLAGS } from "../scripts/source-flags.ts";

const examples = readdirSync(`${ROOT}examples`, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test.each(examples)("%s runs as expected and ends", async (name) => {
  const args = [...SOURCE_FLAGS, "main.ts"];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: `${ROOT}examples/${name}`,
    timeout: 100_000,
  });
  expect(stdout.trimEnd().split("\n").at(-1)).toBe("All as expected.");
});
