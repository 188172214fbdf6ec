/** The engine, read, cut and compiled once per process and shared by all workers. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { cutEngineModule, withDigest } from "../worker/engine-module.ts";

let compiled: Promise<WebAssembly.Module> | undefined;

export function loadEngine(): Promise<WebAssembly.Module> {
  compiled ??= compile().catch((error: unknown) => {
    // A later attempt may find the file again.
    compiled = undefined;
    throw error;
  });
  return compiled;
}

async function compile(): Promise<WebAssembly.Module> {
  const path = fileURLToPath(import.meta.resolve("quickjs-wasi/quickjs.wasm"));
  const module = cutEngineModule(await readFile(path));
  return await WebAssembly.compile(withDigest(module, createHash("sha256").update(module).digest()));
}
