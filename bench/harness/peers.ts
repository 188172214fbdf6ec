/**
 * Installs the peers if they are missing, and finds out which contestants can run here.
 *
 * No install scripts are run: isolated-vm has prebuilt binaries, and no other peer needs scripts.
 */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Contestant } from "../contestants/contestant.ts";
import { coldStart } from "../workloads/cold-start.ts";
import { runJob } from "./spawn.ts";

const PEERS = fileURLToPath(new URL("../peers/", import.meta.url));
const INSTALLED = `${PEERS}node_modules/.package-lock.json`;
const LOCKFILE = `${PEERS}package-lock.json`;
/** A copy of the lockfile that was installed. */
const STAMP = `${PEERS}node_modules/.bench-installed.json`;

interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly version: string }>>;
}

/** Says why the peers could not be installed; undefined if they are installed. */
export function installPeers(): string | undefined {
  const lockfile = readFileSync(LOCKFILE, "utf8");
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === lockfile) return undefined;
  console.log("Installing the peers in bench/peers …");
  const { status, stderr, error } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: PEERS,
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (status === 0) {
    writeFileSync(STAMP, lockfile);
    return undefined;
  }
  const line = stderr?.split("\n").find((each) => each.startsWith("npm error"));
  return `npm ci failed: ${line ?? error?.message ?? `code ${status}`}`;
}

/** The installed versions, by name. */
export function readPeerVersions(): Readonly<Record<string, string>> {
  const versions: Record<string, string> = {};
  if (!existsSync(INSTALLED)) return versions;
  const wanted: { dependencies: object } = JSON.parse(readFileSync(`${PEERS}package.json`, "utf8"));
  const installed: Lockfile = JSON.parse(readFileSync(INSTALLED, "utf8"));
  for (const name of Object.keys(wanted.dependencies)) {
    versions[name] = installed.packages[`node_modules/${name}`]?.version ?? "not installed";
  }
  return versions;
}

/** Runs one tool call in a process of its own. Says why that failed; undefined if it worked. */
export async function probe(
  contestant: Contestant,
  nodeFlags: readonly string[],
): Promise<string | undefined> {
  let reason: string | undefined = "does not run";
  const crash = await runJob(
    {
      workload: coldStart.name,
      contestants: [contestant.id],
      cases: ["one tool call"],
      rounds: 1,
      pace: { warmMs: 0, blockMs: 0, minRuns: 1, maxRuns: 1 },
    },
    { nodeFlags: [...nodeFlags, ...(contestant.nodeFlags ?? [])], silenceMs: 30_000 },
    (report) => {
      if (report.type === "unavailable") reason = `not installed: ${report.reason}`;
      if (report.type === "measured") {
        reason = report.sample.failed === 0 ? undefined : `does not run: ${report.sample.failure}`;
      }
    },
  );
  return crash === undefined ? reason : `does not run: ${crash.reason}`;
}
