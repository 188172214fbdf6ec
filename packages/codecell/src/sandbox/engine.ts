/** The engine, read, cut and compiled once per process and shared by all workers. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { cutEngineModule, withDigest } from "../worker/engine-module.ts";
import { loadEmbeddedEngine } from "./embedded.ts";
import { ownFile } from "./own-file.ts";

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
  const module = cutEngineModule((await readFromPackage()) ?? (await loadEmbeddedEngine()));
  return await WebAssembly.compile(withDigest(module, createHash("sha256").update(module).digest()));
}

async function readFromPackage(): Promise<Uint8Array | undefined> {
  // Where our own files are not, what is found by this name may be of any version.
  if (ownFile("worker/node") === undefined) return undefined;
  try {
    return await readFile(fileURLToPath(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
  } catch {
    return undefined;
  }
}
