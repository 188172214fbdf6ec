/** LastCase: tries cases in a process that has room for them and no more (`heap-room.ts`). */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";
import { ROOM_FLAGS } from "./heap-room.ts";

const fixture = fileURLToPath(new URL("./room.fixture.ts", import.meta.url));

/** Cases that find no room should die without leaving a core file: people look for cores to find accidents. */
const WITHOUT_CORE = 'ulimit -c 0; exec "$@"';

/** For tests that try cases. */
export const PATIENT = { timeout: 1_000_000 };

/** The last case of a group that its process reached, and why it ended there; `all of them` if no case was too much. */
export async function lastCase(group: string): Promise<string> {
  return new Promise((resolve) => {
    const command = [process.execPath, ...SOURCE_FLAGS, ...ROOM_FLAGS, fixture, group];
    execFile("sh", ["-c", WITHOUT_CORE, "sh", ...command], { timeout: 900_000 }, (_, out, error) => {
      const reason = /heap out of memory|MB of buffers|Error: .*/u.exec(error)?.[0];
      resolve([out.trimEnd().split("\n").at(-1) ?? "", ...(reason === undefined ? [] : [reason])].join(": "));
    });
  });
}
