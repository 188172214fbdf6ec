/** Runs in a process with a small address space, as containers may have. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";

/** How runs end in a process with so many kilobytes of address space. */
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

// Other systems do not tell the limit, or do not enforce it.
describe.runIf(process.platform === "linux")("a process with a limit", () => {
  test("[host:address-space] all runs of a burst complete, even if they do not fit side by side", async () => {
    expect(await runsWithin(40_000_000, 50)).toEqual({ completed: 50 });
  }, 180_000);

  test("[host:address-space] with too little for one run, runs fail at once and say what to raise", async () => {
    expect(await runsWithin(3_000_000, 5, ["--disable-wasm-trap-handler"])).toEqual({
      "unavailable: The sandbox could not run the program: this process has # GB left of the # GB of addresses it may use: raise its limit (ulimit -v), or start Node.js with --disable-wasm-trap-handler": 5,
    });
  });
});
