/**
 * A sandbox with all that a page gives its worker, and nothing of Node.js: asynchronous digests and deflate, plain memory.
 * It runs on the caller's thread, as a page's sandbox will not.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { InProcessSandbox } from "../../packages/codecell/src/sandbox/in-process/in-process-sandbox.ts";
import { compileEngine, WEB_PLATFORM } from "../../packages/codecell/src/worker/web-platform.ts";

export function createWebLikeSandbox(): InProcessSandbox {
  return new InProcessSandbox({
    // As a page has them, from wherever it fetches them.
    loadEngine: async () =>
      compileEngine(await readFile(fileURLToPath(import.meta.resolve("quickjs-wasi/quickjs.wasm")))),
    createPlatform: () => WEB_PLATFORM,
  });
}
