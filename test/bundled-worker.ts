/**
 * In place of sandbox/node/worker-script.ts for the hosts of tests (vitest.config.ts): they start their threads from one script,
 * bundled before the test run, in a third of the processor time that all its files take.
 */
import { bundleUrl } from "../scripts/bundle.ts";
import { resolveWorkerUrl as resolveGiven } from "../packages/codecell/src/sandbox/node/worker-script.ts";

export * from "../packages/codecell/src/sandbox/node/worker-script.ts";

export function defaultWorkerUrl(): URL {
  return bundleUrl("worker");
}

export function resolveWorkerUrl(given: unknown): URL {
  return given === undefined ? defaultWorkerUrl() : resolveGiven(given);
}
