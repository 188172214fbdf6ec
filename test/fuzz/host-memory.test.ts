/**
 * What a program chooses makes the host take at most 64 MB beyond the run's own memory, as test/fuzz/host-memory.ts
 * defines it.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";
import { ROOM_FLAGS } from "./heap-room.ts";

const fixture = fileURLToPath(new URL("./host-memory.fixture.ts", import.meta.url));

/** Cases that find no room should die without leaving a core file: people look for cores to find accidents. */
const WITHOUT_CORE = 'ulimit -c 0; exec "$@"';

/** The last case that a process reached, and why it ended there; `all of them` if no case was too much. */
async function lastCase(...args: string[]): Promise<string> {
  return new Promise((resolve) => {
    const command = [process.execPath, ...SOURCE_FLAGS, ...ROOM_FLAGS, fixture, ...args];
    execFile("sh", ["-c", WITHOUT_CORE, "sh", ...command], { timeout: 900_000 }, (_, out, error) => {
      const reason = /heap out of memory|MB of buffers|Error: .*/u.exec(error)?.[0];
      resolve([out.trimEnd().split("\n").at(-1) ?? "", ...(reason === undefined ? [] : [reason])].join(": "));
    });
  });
}

describe("a room of 64 MB", { timeout: 1_000_000 }, () => {
  test("holds garbage of any size, and live memory up to its size", async () => {
    expect(await lastCase("garbage")).toBe("all of them");
    expect(await lastCase("fits")).toBe("all of them");
  });

  test("does not hold more, in the heap, in buffers or in both together", async () => {
    expect(await lastCase("heap")).toBe("heap: heap out of memory");
    expect(await lastCase("buffers")).toBe("buffers: MB of buffers");
    expect(await lastCase("both")).toBe("both: heap out of memory");
  });

  test("[host:memory] holds all work on what a program chooses, and whole runs beyond their own memory", async () => {
    expect(await lastCase("all")).toBe("all of them");
  });
});
