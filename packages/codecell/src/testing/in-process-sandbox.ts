/**
 * The sandbox of one thread, for tests that run on Node.js.
 *
 * **It protects nobody from a program**: a program that computes holds the test's own thread. Never give it to a host that runs
 * what a model wrote.
 */
import { InProcessSandbox } from "../sandbox/in-process/in-process-sandbox.ts";
import { loadEngine } from "../sandbox/node/engine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { createNodePlatform } from "../worker/node-platform.ts";

/** For tests only: starts no thread, and isolates nothing. */
export function createInProcessSandbox(): Sandbox {
  return new InProcessSandbox({ loadEngine, createPlatform: createNodePlatform });
}
