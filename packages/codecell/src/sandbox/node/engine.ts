/** The engine, read, cut and compiled once per process and shared by all workers. Runs on the host. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { cutEngineModule, withDigest } from "../../worker/engine-module.ts";
import { loadEmbeddedEngine } from "./embedded.ts";
import { holdImportWrappers } from "./import-wrappers.ts";
import { ownFile } from "./own-file.ts";

let compiled: Promise<WebAssembly.Module> | undefined;

export function loadEngine(): Promise<WebAssembly.Module> {
  compiled ??= compile().catch((error: unknown) => {
    // A later attempt may find the file.
    compiled = undefined;
    throw error;
  });
  return compiled;
}

async function compile(): Promise<WebAssembly.Module> {
  const wasm = (await readFromPackage()) ?? (await loadEmbeddedEngine());
  const module = cutEngineModule(wasm);
  const [engine] = await Promise.all([
    WebAssembly.compile(withDigest(module, createHash("sha256").update(module).digest())),
    // Uses only this thread, which would otherwise wait for the compiling threads.
    holdImportWrappers(wasm),
  ]);
  return engine;
}

async function readFromPackage(): Promise<Uint8Array | undefined> {
  // If our own files are not here, a file found by this name may be of any version.
  if (ownFile("worker/node") === undefined) return undefined;
  try {
    return await readFile(fileURLToPath(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
  } catch {
    return undefined;
  }
}
