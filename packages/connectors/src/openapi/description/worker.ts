/** The script of the thread that reads a description: it reads one, says what it found, and ends. */
import { parentPort, workerData } from "node:worker_threads";
import { describe } from "./describe.ts";
import { loadDocument, LoadFailure } from "./load-documents.ts";
import type { ThreadAnswer, ThreadSetup } from "./messages.ts";

const { source, documentBytes, ownedHeaders } = workerData as ThreadSetup;

async function answer(): Promise<ThreadAnswer> {
  try {
    return {
      kind: "described",
      described: describe(await loadDocument(source, documentBytes), ownedHeaders),
    };
  } catch (error) {
    if (error instanceof LoadFailure) return { kind: "failed", code: error.code, message: error.message };
    const message =
      error instanceof RangeError ? "its description is nested too deeply" : "its description cannot be used";
    return { kind: "failed", code: "CONFIG_INVALID", message };
  }
}

const message = await answer();
parentPort?.postMessage(message, message.kind === "described" ? [message.described.text.buffer] : []);
