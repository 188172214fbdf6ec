/** Runs in a process that has few addresses, as containers may have. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";

/** What becomes of runs in a process of its own with so many kilobytes of addresses. */
async function runsWithin(kilobytes: number, runs: number, flags: readonly string[] = []): Promise<unknown> {
  const fixture = fileURLToPath(new URL("./address-space.fixture.ts", import.meta.url));
  const child = spawn(
    "sh",
    [
      "-c",
      `ulimit -v ${kilobytes} && exec "$@"`,
      "sh",
      process.execPath,
      ...SOURCE_FLAGS,
      ...flags,
      fixture,
      String(runs),
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const [out, error] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  if (out === "") throw new Error(`The process died: ${error}`);
  return JSON.parse(out);
}

// Elsewhere the system does not tell how much there is, or does not keep to it.
describe.runIf(process.platform === "linux")("a process with a limit", () => {
  test("[host:address-space] all runs of a burst complete, whether they fit side by side or not", async () => {
    expect(await runsWithin(40_000_000, 50)).toEqual({ completed: 50 });
  }, 180_000);

  test("[host:address-space] with too little for one, runs fail at once and say what to raise", async () => {
    expect(await runsWithin(3_000_000, 5, ["--disable-wasm-trap-handler"])).toEqual({
      "unavailable: The sandbox could not run the program: this process has # GB left of the # GB of addresses it may use: raise its limit (ulimit -v), or start Node.js with --disable-wasm-trap-handler": 5,
    });
  });
});
