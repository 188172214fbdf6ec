/** Runs a case in a process of its own, so that a dead host is a result and does not crash the suite. */
import { fork } from "node:child_process";
import { once } from "node:events";
import type { AttackCase } from "./case.ts";
import type { Verdict } from "./child.ts";
import { bundleFixture } from "../../scripts/bundle.ts";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";

const script = bundleFixture(new URL("child.ts", import.meta.url));
/** A child that takes longer than this hangs. */
const PATIENCE_MS = 500_000;
const SHOWN_OUTPUT = 2000;

export async function launch(file: URL, attack: AttackCase): Promise<Verdict> {
  const child = fork(await script, [file.href], {
    execArgv: [...SOURCE_FLAGS],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  let output = "";
  let outputBytes = 0;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      outputBytes += chunk.length;
      if (output.length < SHOWN_OUTPUT) output += chunk.toString();
    });
  }
  let verdict: Verdict | undefined;
  child.on("message", (message) => {
    verdict = message as Verdict;
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  clearTimeout(timer);
  const broken: string[] = [];
  if (verdict === undefined || code !== 0) {
    broken.push(`hostUnaffected: the host process died (code ${code}, signal ${signal}): ${output}`);
  }
  const { maxStdoutBytes } = attack.invariants;
  if (maxStdoutBytes !== undefined && outputBytes > maxStdoutBytes) {
    broken.push(`maxStdoutBytes: ${outputBytes} bytes were printed: ${output}`);
  }
  const nothing = { results: [], broken: [], wallMs: 0, loopGapMs: 0, loopCpuMs: 0, rssDeltaMB: 0 };
  return { ...(verdict ?? nothing), broken: [...(verdict?.broken ?? []), ...broken] };
}
