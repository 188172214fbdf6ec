/**
 * Starts a measuring process for one job and follows it until it ends in any way.
 *
 * - If a process crashes or is silent for too long, the contestant that it had begun is blamed.
 * - What guests print is discarded: results travel over IPC.
 */

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Job, Report } from "./job.ts";

const MEASURE = fileURLToPath(new URL("./measure.ts", import.meta.url));

export interface Crash {
  readonly contestant: string;
  readonly caseLabel: string;
  readonly reason: string;
}

export interface SpawnOptions {
  readonly nodeFlags: readonly string[];
  readonly silenceMs: number;
}

export function runJob(
  job: Job,
  options: SpawnOptions,
  onReport: (report: Report) => void,
): Promise<Crash | undefined> {
  return new Promise((resolve) => {
    const child = fork(MEASURE, [JSON.stringify(job)], {
      execArgv: ["--expose-gc", ...options.nodeFlags],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let current = { contestant: job.contestants[0] ?? "", caseLabel: "" };
    let stderr = "";
    let silent = false;
    let timer: NodeJS.Timeout;
    const listen = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        silent = true;
        child.kill("SIGKILL");
      }, options.silenceMs);
    };
    listen();
    child.stderr?.on("data", (chunk: Buffer) => {
      stderr = (stderr + chunk.toString()).slice(-4000);
    });
    child.on("message", (message: Report) => {
      listen();
      if (message.type === "begun") {
        current = { contestant: message.contestant, caseLabel: message.caseLabel };
      }
      onReport(message);
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve(undefined);
      else if (silent) resolve({ ...current, reason: `no answer within ${options.silenceMs / 1000} s` });
      else resolve({ ...current, reason: explain(code, signal, stderr) });
    });
  });
}

function explain(code: number | null, signal: string | null, stderr: string): string {
  const line =
    stderr
      .split("\n")
      .find((each) => /^\s*(Aborted|Fatal|FATAL|\w*Error\b)/.test(each))
      ?.trim() ?? "";
  return `process ended with ${signal ?? `code ${code}`}${line === "" ? "" : `: ${line.slice(0, 160)}`}`;
}
