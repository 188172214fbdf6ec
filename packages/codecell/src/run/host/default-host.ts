/**
 * The process's own host and sandbox, for `run()` and for surfaces that were given no host. Runs on the host.
 *
 * - Both are made when first used, and never closed: idle threads keep no process alive.
 * - Whoever needs a host with other keys or another store makes one in the same sandbox. So a process has one pool of
 *   threads unless somebody asks for more.
 */
import type { RunResult } from "../../contract/result.ts";
import type { JudgeApart } from "../../protocol/judges.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { createHost, type Host, type StartOptions } from "./host.ts";
import { sandboxOf } from "./host-sandbox.ts";
import { openSandbox } from "./open-sandbox.ts";

let sandbox: Sandbox | undefined;
let host: Host | undefined;

export function defaultSandbox(): Sandbox {
  return (sandbox ??= openSandbox({}));
}

export function defaultHost(): Host {
  return (host ??= createHost({ sandbox: defaultSandbox() }));
}

/** Judges values that belong to no run: in the sandbox of the given host, otherwise in that of the process. */
export function judgeOutsideRuns(given?: Host): JudgeApart {
  return (apart) => {
    const judging = (given === undefined ? undefined : sandboxOf(given)) ?? defaultSandbox();
    return judging.judgeFor("", new AbortController().signal)(apart);
  };
}

/** Runs one program on the process's own host. */
export function run(options: StartOptions): Promise<RunResult> {
  return defaultHost().start(options).result;
}
