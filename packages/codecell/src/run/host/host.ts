/**
 * Composes a host for Node.js: a pool of worker threads, seals, tokens and a store around the neutral `SandboxHost`.
 * Runs on the host.
 *
 * - Besides `open-sandbox.ts` this is the only file of `run/` that knows where seals and stores come from: a page
 *   composes its own host.
 */
import { Suspender } from "../../durable/suspender.ts";
import { Vault } from "../../seal/vault.ts";
import type { EndedKeeping } from "../../durable/ended-runs.ts";
import { assertHost } from "./assert-host.ts";
import { assertOptions } from "./assert-options.ts";
import type { Host, HostOptions, KeepEnded } from "./host-options.ts";
import { openSandbox } from "./open-sandbox.ts";
import { SandboxHost } from "./sandbox-host.ts";

export type {
  DiscardOptions,
  ForkOptions,
  Host,
  HostOptions,
  KeepEnded,
  ReadEndedOptions,
  ResumeOptions,
  RunHandle,
  RunOptions,
  StartOptions,
} from "./host-options.ts";
export type { EndedRecord } from "../../durable/ended-runs.ts";

const LEASE_MS = 30_000;
const ENDED_RUNS = 10_000;
const ENDED_BYTES = 268_435_456;

export function createHost(options: HostOptions = {}): Host {
  assertOptions(options, "create a host");
  assertHost(options);
  const vault = new Vault(options);
  const { store, leaseMs = LEASE_MS, listToolNames = false, keepEnded } = options;
  if (store !== undefined) vault.warnIfLost(store);
  const facts = { namesTools: listToolNames, ended: keepEnded && resolveKeeping(keepEnded) };
  const suspender = new Suspender(vault, store, leaseMs, facts);
  return new SandboxHost(options, options.sandbox ?? openSandbox(options), suspender);
}

function resolveKeeping({ forMs, runs = ENDED_RUNS, bytes = ENDED_BYTES }: KeepEnded): EndedKeeping {
  return { forMs, runs, bytes };
}
