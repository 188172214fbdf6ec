/**
 * Runs in tests on Node.js. The sandbox of one thread.
 *
 * **It protects nobody from a program**: a program that computes blocks the test's own thread. Never give this
 * sandbox to a host that runs what a model wrote.
 */
import { InProcessSandbox } from "../sandbox/in-process/in-process-sandbox.ts";
import { loadEngine } from "../sandbox/node/engine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { createNodePlatform } from "../worker/node-platform.ts";

/** For tests only: starts no thread, and isolates nothing. */
export function createInProcessSandbox(): Sandbox {
  return new InProcessSandbox({ loadEngine, createPlatform: createNodePlatform });
}
